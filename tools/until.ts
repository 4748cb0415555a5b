import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;

/**
 * Waits for what comes about by itself, in real time, but not for ever. A check that fails counts as "not yet": a busy
 * server answers late.
 *
 * @param what the end of "waited in vain until …"
 */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  limitMs = 15_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  for (;;) {
    let cause: unknown;
    try {
      if (await check()) return;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > end) throw new Error(`Waited ${limitMs} ms in vain until ${what}.`, { cause });
    await sleep(PAUSE_MS);
  }
}
