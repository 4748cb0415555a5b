import { BadOptionError } from '../bad-option.js';
import type { Format } from './format.js';
import { fieldsOf, type KeyOption, shorten, toKey } from './key-option.js';
import { STAMP_LENGTH, StampReader } from './time.js';

const QUOTE = 34;
const SPACE = 32;
const BACKSLASH = 92;
const MINUS = 45;

/**
 * The common and the combined format of Apache and nginx, which begin alike:
 * `ADDRESS IDENT USER [TIME] "METHOD PATH PROTOCOL" STATUS …`. What follows the status is not looked at.
 */
export function commonLog(key: KeyOption): Format {
  const stamps = new StampReader();
  const [only] = key.parts;
  const read = key.parts.length === 1 && only === 'ip' ? undefined : key.parts.map(partOf);
  return {
    name: 'common',
    begin() {
      const [field] = fieldsOf(key);
      if (field === undefined) return;
      throw new BadOptionError(
        `--key ${key.written}: a common or combined log has no field "${field}", only ip, user and path.`,
      );
    },
    parse(line) {
      const address = line.indexOf(' ');
      const ident = line.indexOf(' ', address + 1);
      if (address < 1 || ident === -1) return undefined;
      // A user's name may have brackets in it: the first one that a time follows is the one.
      for (let open = line.indexOf(' [', ident); open !== -1; open = line.indexOf(' [', open + 1)) {
        const at = stamps.read(line, open + 2);
        if (Number.isNaN(at)) continue;
        const quote = open + STAMP_LENGTH + 4;
        const end = endOfRequest(line, quote);
        if (end === -1) return undefined;
        if (read === undefined) return { at, key: shorten(line.slice(0, address)) };
        const places = { address, ident, open, quote, end };
        return { at, key: toKey(read.map((part) => part(line, places))) };
      }
      return undefined;
    },
  };
}

/** Where things are in a line. */
interface Places {
  readonly address: number;
  readonly ident: number;
  readonly open: number;
  readonly quote: number;
  readonly end: number;
}

type Part = (line: string, places: Places) => string | undefined;

function partOf(name: string): Part {
  if (name === 'user') return user;
  return name === 'path' ? path : (line, { address }) => line.slice(0, address);
}

function user(line: string, { ident, open }: Places): string | undefined {
  const name = line.slice(ident + 1, open);
  return name === '-' || name === '' || name === '""' ? undefined : name;
}

/** Without what is asked of it: a search for one thing and for another is one page. */
function path(line: string, { quote, end }: Places): string | undefined {
  const from = line.indexOf(' ', quote) + 1;
  if (from === 0 || from >= end) return undefined;
  const space = line.indexOf(' ', from);
  return withoutQuery(line.slice(from, space === -1 || space > end ? end : space));
}

export function withoutQuery(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** Where the request's closing quote is; -1 where the line is no line of a log. */
function endOfRequest(line: string, quote: number): number {
  if (line.charCodeAt(quote) !== QUOTE || line.charCodeAt(quote - 1) !== SPACE) return -1;
  if (line.charCodeAt(quote - 2) !== 93 /* ] */) return -1;
  let end = line.indexOf('"', quote + 1);
  while (end !== -1 && isEscaped(line, end)) end = line.indexOf('"', end + 1);
  if (end === -1 || line.charCodeAt(end + 1) !== SPACE) return -1;
  const status = line.charCodeAt(end + 2);
  return (status >= 48 && status <= 57) || status === MINUS ? end : -1;
}

/** Apache writes a quote in a request as `\"`, and a backslash as two. */
function isEscaped(line: string, at: number): boolean {
  let from = at;
  while (line.charCodeAt(from - 1) === BACKSLASH) from -= 1;
  return (at - from) % 2 === 1;
}
