import { readFileSync } from 'node:fs';

/** How long processes had waited, at some time, for a processor that others had: all in all, in ms. */
export interface Held {
  readonly at: number;
  readonly ms: number;
}

/** Only Linux tells; elsewhere nobody ever waits, and a machine that is busy is no excuse. */
export function heldNow(...pids: readonly number[]): Held {
  return { at: performance.now(), ms: pids.map(waited).reduce((sum, ms) => sum + ms) };
}

/** How long they waited from the last look before a time to the first look after another. */
export function heldDuring(looks: readonly Held[], from: number, to: number): number {
  const before = looks.findLast(({ at }) => at <= from) ?? looks[0];
  const after = looks.find(({ at }) => at >= to) ?? looks.at(-1);
  return before === undefined || after === undefined ? 0 : after.ms - before.ms;
}

/** Of the main thread, which is the one that runs JavaScript. */
function waited(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1_000_000;
  } catch {
    return 0;
  }
}
