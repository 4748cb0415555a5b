import type { Run } from '../../../src/side-by-side/simulate.js';

/** How many requests there were by a time, by outcome. Without a time: all. */
export function seenUntil(run: Run, time: number | undefined): Pick<Run, 'allowed' | 'waiting' | 'refused'> {
  if (time === undefined) return run;
  const seen = { allowed: 0, waiting: 0, refused: 0 };
  for (const { at, outcome } of run.requests) {
    if (at > time) break;
    seen[outcome] += 1;
  }
  return seen;
}
