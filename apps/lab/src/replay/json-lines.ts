import { withoutQuery } from './common-log.js';
import type { Format } from './format.js';
import { type KeyOption, toKey } from './key-option.js';
import { parseTime } from './time.js';

/** In which field of a JSON line things are; left out: in the first of the usual ones that is there. */
export interface Fields {
  readonly time?: string | undefined;
  readonly ip?: string | undefined;
  readonly user?: string | undefined;
  readonly path?: string | undefined;
}

type Line = Readonly<Record<string, unknown>>;

/** Those of nginx's variables, Caddy, Traefik, pino and what people call them. Dots lead into objects. */
export const USUAL: Readonly<Record<keyof Fields, readonly string[]>> = {
  time: ['time', 'timestamp', '@timestamp', 'ts', 'time_iso8601', 'msec', 'time_local', 'StartUTC', 'date'],
  ip: [
    'ip',
    'remote_addr',
    'client',
    'client_ip',
    'clientIp',
    'remoteAddress',
    'ClientHost',
    'request.client_ip',
    'request.remote_ip',
    'req.ip',
    'req.remoteAddress',
  ],
  user: ['user', 'remote_user', 'userId', 'user_id', 'user.id', 'ClientUsername', 'req.user', 'req.user.id'],
  path: ['path', 'uri', 'request_uri', 'url', 'RequestPath', 'request.uri', 'req.url'],
};

export function jsonLines(key: KeyOption, fields: Fields): Format {
  const time = reader('time', fields);
  const parts = key.parts.map((part) => partOf(part, fields));
  return {
    name: 'json',
    begin: () => undefined,
    parse(text) {
      const line = parseObject(text);
      if (line === undefined) return undefined;
      const at = parseTime(time(line));
      return Number.isNaN(at) ? undefined : { at, key: toKey(parts.map((part) => part(line))) };
    },
  };
}

function parseObject(text: string): Line | undefined {
  // Most lines of other formats need not be tried.
  if (text.trimStart()[0] !== '{') return undefined;
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

function partOf(name: string, fields: Fields): (line: Line) => string | undefined {
  if (name === 'path') {
    const read = reader('path', fields);
    return (line) => {
      const target = toText(read(line));
      return target === undefined ? undefined : withoutQuery(target);
    };
  }
  if (name === 'ip' || name === 'user') {
    const read = reader(name, fields);
    return (line) => toText(read(line));
  }
  return (line) => toText(field(line, name));
}

function reader(what: keyof Fields, { [what]: own }: Fields): (line: Line) => unknown {
  const names = own === undefined ? USUAL[what] : [own];
  return (line) => {
    for (const name of names) {
      const value = field(line, name);
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  };
}

/** A field that is called so, or else what the dots lead to. */
function field(line: Line, name: string): unknown {
  if (Object.hasOwn(line, name)) return line[name];
  if (!name.includes('.')) return undefined;
  let value: unknown = line;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Line)[step];
  }
  return value;
}

/** Header fields come as lists in some logs: the first is meant. */
function toText(value: unknown): string | undefined {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof one === 'number' || typeof one === 'boolean') return String(one);
  return typeof one === 'string' && one !== '' && one !== '-' ? one : undefined;
}
