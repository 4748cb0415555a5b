import { isAscii } from 'node:buffer';

/** A longer line is cut: without a bound, a file without line breaks would be read into memory as one line. */
const LONGEST_LINE = 1_000_000;

const LINE_FEED = 10;

/**
 * Bytes as text, in pieces that end where a line ends; the last one where the bytes end. They are cut as bytes, because
 * no character of UTF-8 has a line feed in it: then each byte is looked at and decoded once.
 */
export async function* pieces(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    const end = piece.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      const first = piece.indexOf(LINE_FEED) + 1;
      yield decode(Buffer.concat([rest, piece.subarray(0, first)]));
      if (first < end) yield decode(piece.subarray(first, end));
      rest = Buffer.from(piece.subarray(end));
    } else if (rest.length < LONGEST_LINE) {
      rest = Buffer.concat([rest, piece]);
    }
  }
  if (rest.length > 0) yield decode(rest);
}

/** Most logs are ASCII, which takes a small part of the time. */
function decode(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
}

/** Calls back for each line, without its end. */
export function eachLine(piece: string, take: (line: string) => void): void {
  // Windows programs write a mark at the beginning of a file.
  let from = piece.charCodeAt(0) === 0xfeff ? 1 : 0;
  while (from < piece.length) {
    const found = piece.indexOf('\n', from);
    const next = found === -1 ? piece.length : found;
    const end = next > from && piece.charCodeAt(next - 1) === 13 ? next - 1 : next;
    take(piece.slice(from, end));
    from = next + 1;
  }
}
