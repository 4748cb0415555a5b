import type { Round } from './statistics.js';

/**
 * Measures everything once in each round instead of one after the other, and begins each round with another, because
 * machines are noisy and no contestant shall have the quiet minutes. The first round only warms up.
 */
export async function interleave<Item>(
  items: readonly Item[],
  rounds: number,
  measure: (item: Item, warmUp: boolean) => Promise<Round>,
): Promise<Map<Item, Round[]>> {
  const measured = new Map<Item, Round[]>(items.map((item) => [item, []]));
  for (let round = 0; round <= rounds; round += 1) {
    const first = round % items.length;
    for (const item of [...items.slice(first), ...items.slice(0, first)]) {
      const figures = await measure(item, round === 0);
      if (round > 0) measured.get(item)!.push(figures);
      process.stderr.write('.');
    }
  }
  process.stderr.write('\n');
  return measured;
}
