import { describe, expect, it } from '@jest/globals';
import { compare, comparisonTable, mostWithin } from './compare.js';
import { openMemory, openValkey } from './place.js';
import { silentProgress } from './progress.js';

const CELLS = [
  ['traffic', 'fixed-window', 'sliding-log', 'sliding-counter', 'token-bucket', 'leaky-bucket'],
  ['edge', '20/20', '10/20', '11/20', '10/20', '10/20'],
  ['steady', '60/180', '60/180', '60/180', '69/180', '69/180'],
  ['burst', '10/30', '10/30', '10/30', '10/30', '10/30'],
  ["leaky-bucket's longest wait", 'edge 8.6 s', 'steady 8.7 s', 'burst 8.7 s', '', ''],
  ['most requests that reach the application in any 1 s of edge', '20', '10', '11', '10', '2'],
];

describe.each([
  ['memory', () => Promise.resolve(openMemory())],
  ['valkey', () => openValkey(process.env['TEST_VALKEY_URL'])],
])('compare on %s', (_, open) => {
  it('prints exactly these numbers', async () => {
    const place = await open();
    try {
      const printed = comparisonTable(await compare(place, silentProgress));
      expect(cells(printed)).toEqual(CELLS);
      expect(printed.split('\n').at(-1)).toBe(`Run on ${place.server}, Node ${process.version}.`);
    } finally {
      await place.close();
    }
  });
});

describe('mostWithin', () => {
  it.each([
    ['nothing', [], 0],
    ['both ends of the interval', [0, 1_000], 2],
    ['what is a millisecond too far', [0, 1_001], 1],
    ['the fullest of several', [0, 2_000, 2_500, 2_900, 5_000], 3],
    ['equal times', [7, 7, 7], 3],
  ])('counts %s', (_, times, most) => {
    expect(mostWithin(1_000, times)).toBe(most);
  });
});

function cells(printed: string): string[][] {
  return printed
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}
