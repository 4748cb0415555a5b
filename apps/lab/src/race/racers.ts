import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ValkeyPlace } from '../place.js';

/** What a process is started with, in its environment: a URL may hold a password, and arguments can be seen. */
export interface RacerSetup {
  readonly url: string;
  readonly prefix: string;
  readonly limit: number;
}

export interface RacerOrder {
  readonly policy: string;
  readonly requests: number;
}

export type RacerReport =
  { readonly ready: true } | { readonly allowed: number } | { readonly error: string };

/** Processes that wait for the same starting shot. */
export interface Racers {
  /** Every process makes `requests` at once; how many passed in all. */
  run(policy: string, requests: number): Promise<number>;
  stop(): void;
}

export async function startRacers(
  { url, prefix }: ValkeyPlace,
  { processes, limit }: { processes: number; limit: number },
): Promise<Racers> {
  const setup: RacerSetup = { url, prefix, limit };
  const children = Array.from({ length: processes }, () => startRacer(setup));
  const stop = () => {
    process.off('exit', stop);
    for (const child of children) child.kill();
  };
  // Also when a signal ends this process: they would notice by themselves only when they have started.
  process.once('exit', stop);
  try {
    // Only when all are connected: otherwise the first would be through before the last has begun.
    await Promise.all(children.map(nextReport));
  } catch (error) {
    stop();
    throw error;
  }
  return {
    run: async (policy, requests) => {
      const order: RacerOrder = { policy, requests };
      const reports = children.map(nextReport);
      for (const child of children) child.send(order);
      const allowed = (await Promise.all(reports)).map((report) =>
        'allowed' in report ? report.allowed : 0,
      );
      return allowed.reduce((sum, count) => sum + count, 0);
    },
    stop,
  };
}

function startRacer(setup: RacerSetup): ChildProcess {
  // This file's own ending: `.ts` where it runs as it is written.
  const file = fileURLToPath(new URL(`racer${extname(import.meta.url)}`, import.meta.url));
  return fork(file, [], {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, LAB_RACER: JSON.stringify(setup) },
  });
}

function nextReport(child: ChildProcess): Promise<RacerReport> {
  return new Promise((resolve, reject) => {
    const settle = (work: () => void) => {
      child.removeAllListeners('message').removeAllListeners('exit').removeAllListeners('error');
      work();
    };
    child.once('message', (report: RacerReport) =>
      settle(() => ('error' in report ? reject(failed(report.error)) : resolve(report))),
    );
    child.once('exit', (code, signal) => settle(() => reject(failed(`it ended (${signal ?? code})`))));
    child.once('error', (error) => settle(() => reject(failed(error.message))));
  });
}

function failed(why: string): Error {
  return new Error(`One of the racing processes failed: ${why}`);
}
