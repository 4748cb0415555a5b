import { createHash } from 'node:crypto';
import { BadOptionError } from '../bad-option.js';

/** What is counted together: what every format knows, and fields that only JSON lines have. */
export interface KeyOption {
  /** As it was written. */
  readonly written: string;
  /** `ip`, `user`, `path`, or the name of a field. */
  readonly parts: readonly string[];
}

const KNOWN: ReadonlySet<string> = new Set(['ip', 'user', 'path']);

/** A path may be long, and whoever sends it chooses how long. */
const LONGEST = 200;

/**
 * @example
 * parseKey('ip+path')
 * @throws {BadOptionError} for an empty part
 */
export function parseKey(written: string): KeyOption {
  const parts = written.split('+').map((part) => part.trim());
  if (parts.every((part) => part !== '')) return { written, parts };
  throw new BadOptionError(
    `--key ${written}: it must be ip, user, path or a field of JSON lines, or several of them as in ip+path.`,
  );
}

/** The parts that only JSON lines can have. */
export function fieldsOf({ parts }: KeyOption): string[] {
  return parts.filter((part) => !KNOWN.has(part));
}

/** Makes a key of the parts' texts; `undefined` where one of them is missing, as nobody can say who that was. */
export function toKey(texts: readonly (string | undefined)[]): string | undefined {
  if (texts.length === 1) return shorten(texts[0]);
  // A space is what parts are told from each other by.
  const written = texts.map((text) => text?.replaceAll(' ', '%20'));
  return written.includes(undefined) ? undefined : shorten(written.join(' '));
}

/** Never the same for two: what is cut off is replaced by a hash of the whole. */
export function shorten(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= LONGEST) return text;
  const hash = createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22);
  return `${text.slice(0, LONGEST - 50)}…${hash}`;
}
