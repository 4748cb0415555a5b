const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `10/Oct/2026:13:55:36 -0700`, as servers write it between brackets. */
export const STAMP_LENGTH = 26;
const STAMP = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/;

/** Zones with and without a colon, which is more than `Date.parse` promises to read; it also reads what is no time. */
const ISO = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(?:([Zz])|([+-]\d\d):?(\d\d)?)?$/;
const NUMBER = /^\d{1,19}(\.\d{1,9})?$/;

/** The first time of 14 digits: later ones are a mistake, and Valkey's state is written with 13. */
const TOO_LATE = 10_000_000_000_000;

/** Reads the time of a line. A busy server writes the same one hundreds of times, so the last is remembered. */
export class StampReader {
  #text = '?';
  #at = NaN;

  /** Milliseconds since 1970; `NaN` where there is no time at that place of the line. */
  read(line: string, from: number): number {
    if (line.startsWith(this.#text, from)) return this.#at;
    const text = line.slice(from, from + STAMP_LENGTH);
    const at = parseStamp(text);
    if (!Number.isNaN(at)) [this.#text, this.#at] = [text, at];
    return at;
  }
}

export function parseStamp(text: string): number {
  const match = STAMP.exec(text);
  if (match === null) return NaN;
  const [day, year, hour, minute, second] = [1, 3, 4, 5, 6].map((group) => Number(match[group]));
  const month = MONTHS.indexOf(match[2]!);
  if (month === -1 || hour! > 23 || minute! > 59 || second! > 60) return NaN;
  const local = Date.UTC(year!, month, day!, hour, minute, second);
  // The 31st of February is read as a day of March.
  if (new Date(Date.UTC(year!, month, day!)).getUTCDate() !== day) return NaN;
  const offset = (Number(match[8]) * 60 + Number(match[9])) * 60_000;
  return inRange(match[7] === '+' ? local - offset : local + offset);
}

/**
 * The time in a JSON line: ISO 8601, where none is told in UTC; as servers write it between brackets; or since 1970, in
 * seconds, or in milliseconds, microseconds or nanoseconds, which are told from each other by their size.
 */
export function parseTime(value: unknown): number {
  if (typeof value === 'number') return inRange(sinceEpoch(value));
  if (typeof value !== 'string') return NaN;
  if (NUMBER.test(value)) return inRange(sinceEpoch(Number(value)));
  const match = ISO.exec(value);
  if (match === null) return parseStamp(value);
  const [, date, time, , hours, minutes = '00'] = match;
  const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  return inRange(Date.parse(`${date}T${time!.replace(',', '.')}${zone}`));
}

/** In seconds, what is less than 10^11 is before the year 5138; in milliseconds it would be before March 1973. */
function sinceEpoch(number: number): number {
  if (number < 1e11) return Math.round(number * 1_000);
  if (number < 1e14) return Math.round(number);
  return Math.round(number < 1e17 ? number / 1e3 : number / 1e6);
}

function inRange(at: number): number {
  return at >= 0 && at < TOO_LATE ? at : NaN;
}

/** For people: to the second, in UTC. */
export function showTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** For people: about how long. */
export function showLength(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = ms / 1_000;
  if (seconds < 120) return `${round(seconds)} s`;
  if (seconds < 7_200) return `${round(seconds / 60)} min`;
  return seconds < 172_800 ? `${round(seconds / 3_600)} h` : `${round(seconds / 86_400)} days`;
}

function round(number: number): string {
  return String(Math.round(number * 10) / 10);
}
