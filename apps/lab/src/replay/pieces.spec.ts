import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { eachLine, pieces } from './pieces.js';

describe('lines', () => {
  it('are the same however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme' })),
        fc.integer({ min: 1, max: 7 }),
        async (texts, cut) => {
          const written = texts.map((text) => text.replaceAll(/[\r\n\uFEFF]/g, ''));
          expect(await linesOf(Buffer.from(written.map((text) => `${text}\r\n`).join('')), cut)).toEqual(
            written,
          );
        },
      ),
    );
  });

  it('need no end, and may have a mark before them', async () => {
    expect(await linesOf(Buffer.from('\uFEFFone\n\ntwo'), 100)).toEqual(['one', '', 'two']);
  });

  it('are cut where they are too long', async () => {
    const [long, next] = await linesOf(Buffer.from(`${'x'.repeat(3_000_000)}\nnext\n`), 100_000);
    expect(long!.length).toBeLessThan(1_200_000);
    expect(next).toBe('next');
  });
});

async function linesOf(bytes: Buffer, cut: number): Promise<string[]> {
  async function* parts() {
    for (let from = 0; from < bytes.length; from += cut) yield bytes.subarray(from, from + cut);
  }
  const lines: string[] = [];
  for await (const piece of pieces(parts())) eachLine(piece, (line) => lines.push(line));
  return lines;
}
