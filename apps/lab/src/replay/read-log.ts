import type { Progress } from '../progress.js';
import { commonLog } from './common-log.js';
import type { Format, LogRequest } from './format.js';
import { type Fields, jsonLines } from './json-lines.js';
import type { KeyOption } from './key-option.js';
import { eachLine, pieces } from './pieces.js';
import type { Source } from './source.js';

/** A request with its key, at a time that is never before that of the one before it. */
export interface KnownRequest {
  readonly at: number;
  readonly key: string;
}

export interface BrokenLine {
  readonly log: string;
  /** From 1, empty lines included. */
  readonly line: number;
  /** How it begins. */
  readonly text: string;
}

/** What was found while reading. */
export interface Reading {
  /** Those that are not empty. */
  lines: number;
  broken: number;
  readonly firstBroken: BrokenLine[];
  /** Requests that do not say whom to count. */
  withoutKey: number;
  /** Requests that a later one was written before, and by how much at the most. */
  late: number;
  latestMs: number;
  /** When the first and the last request were, in milliseconds since 1970. */
  from: number | undefined;
  to: number | undefined;
  readonly formats: Format['name'][];
}

export interface ReadOptions {
  readonly key: KeyOption;
  readonly fields: Fields;
}

const BROKEN_SHOWN = 3;
const BROKEN_LENGTH = 100;

export function newReading(): Reading {
  return {
    lines: 0,
    broken: 0,
    firstBroken: [],
    withoutKey: 0,
    late: 0,
    latestMs: 0,
    from: undefined,
    to: undefined,
    formats: [],
  };
}

/**
 * Reads logs one after the other, in pieces, so that it takes the same memory however long they are. Lines are written
 * when requests end, and so a little out of order: the clock stands still until the next one that is later.
 *
 * @throws {Error} (rejects) where there is nothing that could be replayed
 */
export async function* readLogs(
  sources: readonly Source[],
  options: ReadOptions,
  reading: Reading,
  progress: Progress,
): AsyncGenerator<readonly KnownRequest[]> {
  const bytes = { read: 0, all: totalSize(sources) };
  for (const source of sources) {
    const log = new LogReader(source.name, options, reading);
    const onRead = (length: number) => {
      bytes.read += length;
      progress.say(showProgress(source.name, bytes));
    };
    for await (const piece of pieces(source.bytes(onRead))) yield log.read(piece);
  }
  if (reading.from === undefined) throw nothing(reading, options.key);
}

class LogReader {
  readonly #formats: readonly Format[];
  #format: Format | undefined;
  #line = 0;

  constructor(
    private readonly name: string,
    { key, fields }: ReadOptions,
    private readonly reading: Reading,
  ) {
    this.#formats = [commonLog(key), jsonLines(key, fields)];
  }

  read(piece: string): KnownRequest[] {
    const requests: KnownRequest[] = [];
    eachLine(piece, (line) => {
      this.#line += 1;
      if (line === '') return;
      this.reading.lines += 1;
      const request = this.#format === undefined ? this.#first(line) : this.#format.parse(line);
      if (request === undefined) this.#broken(line);
      else if (request.key === undefined) this.reading.withoutKey += 1;
      else requests.push({ at: this.#inOrder(request.at), key: request.key });
    });
    return requests;
  }

  /** The first line that is good in a format says which one it is. */
  #first(line: string): LogRequest | undefined {
    for (const format of this.#formats) {
      const request = format.parse(line);
      if (request === undefined) continue;
      format.begin();
      this.#format = format;
      if (!this.reading.formats.includes(format.name)) this.reading.formats.push(format.name);
      return request;
    }
    return undefined;
  }

  #broken(text: string): void {
    const { firstBroken } = this.reading;
    this.reading.broken += 1;
    if (firstBroken.length === BROKEN_SHOWN) return;
    firstBroken.push({ log: this.name, line: this.#line, text: text.slice(0, BROKEN_LENGTH) });
  }

  #inOrder(at: number): number {
    const { reading } = this;
    reading.from ??= at;
    const now = reading.to ?? at;
    if (at < now) {
      reading.late += 1;
      reading.latestMs = Math.max(reading.latestMs, now - at);
      return now;
    }
    reading.to = at;
    return at;
  }
}

function totalSize(sources: readonly Source[]): number | undefined {
  let all = 0;
  for (const { size } of sources) {
    if (size === undefined) return undefined;
    all += size;
  }
  return all;
}

function showProgress(name: string, { read, all }: { read: number; all: number | undefined }): string {
  if (all === undefined) return `${name}: ${Math.floor(read / 1e6)} MB`;
  return `${name}: ${Math.floor((100 * read) / Math.max(1, all))} %`;
}

function nothing({ lines, broken, withoutKey, firstBroken }: Reading, key: KeyOption): Error {
  const [first] = firstBroken;
  if (withoutKey > 0)
    return new Error(`None of ${withoutKey} requests says what --key ${key.written} asks for.`);
  if (first === undefined) return new Error(`There is nothing to replay: ${lines} lines.`);
  return new Error(
    `None of ${broken} lines is one of a common, combined or JSON log. The first is ${JSON.stringify(first.text)}. ` +
      'Where a JSON log has the time in a field of another name, say --time-field.',
  );
}
