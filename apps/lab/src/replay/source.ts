import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BadOptionError } from '../bad-option.js';

/** A log, and how much of it has been read. */
export interface Source {
  /** The file's name, or `-`. */
  readonly name: string;
  /** In bytes as it lies there; `undefined` where nobody knows. */
  readonly size: number | undefined;
  /** Whether it can be read again from its beginning. */
  readonly again: boolean;
  /** Unpacked, if it was packed. */
  bytes(onRead: (bytes: number) => void): AsyncIterable<Buffer>;
}

/** Small enough that V8 keeps its text where short-lived things are: four times as much is read half as fast. */
const PIECE = 64 * 1_024;

/** @throws {BadOptionError} (rejects) for what cannot be read, before anything is */
export async function openSources(
  names: readonly string[],
  stdin: Readable = process.stdin,
): Promise<Source[]> {
  if (names.filter((name) => name === '-').length > 1) {
    throw new BadOptionError('- is named twice, and the standard input can be read once.');
  }
  return Promise.all(names.map((name) => (name === '-' ? standardInput(stdin) : file(name))));
}

function standardInput(stdin: Readable): Source {
  return {
    name: '-',
    size: undefined,
    again: false,
    bytes: (onRead) => unpacked('-', counted(stdin, onRead)),
  };
}

async function file(name: string): Promise<Source> {
  const found = await stat(name).catch((error: NodeJS.ErrnoException) => {
    throw new BadOptionError(
      `${name} cannot be read: ${error.message}. Name a log, or - for the standard input.`,
      {
        cause: error,
      },
    );
  });
  if (found.isDirectory()) throw new BadOptionError(`${name} is a folder. Name the logs that are in it.`);
  // A pipe has a name and no size, and what was read of it is gone.
  const again = found.isFile();
  const bytes = (onRead: (bytes: number) => void) =>
    unpacked(name, counted(createReadStream(name, { highWaterMark: PIECE }), onRead));
  return { name, size: again ? found.size : undefined, again, bytes };
}

async function* counted(stream: AsyncIterable<unknown>, onRead: (bytes: number) => void) {
  for await (const piece of stream) {
    const bytes = piece as Buffer;
    onRead(bytes.length);
    yield bytes;
  }
}

/** By its first two bytes and not by its name: logs are renamed, and what comes through a pipe has none. */
async function* unpacked(name: string, packed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const { done, value } = await packed.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const whole = after(head, packed);
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip({ chunkSize: PIECE });
  // What goes wrong is thrown by the loop below.
  pipeline(Readable.from(whole), gunzip, () => undefined);
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch (error) {
    throw new Error(
      `${name} is packed by gzip and cannot be unpacked to its end: ${(error as Error).message}.`,
      {
        cause: error,
      },
    );
  }
}

async function* after(head: Buffer, rest: AsyncGenerator<Buffer>) {
  if (head.length > 0) yield head;
  yield* rest;
}
