/**
 * What a million clients cost a memory store, and its event loop. Needs `--expose-gc`. Arguments: the variant, and what
 * it is told, as JSON.
 */
import type { Setting } from '../contestants/contestant.js';
import { loadVariant, type VariantId } from '../contestants/index.js';
import { answer } from './answer.js';

export interface MillionResult {
  /** Of the heap and of what is held outside of it, with the keys. */
  readonly bytesPerClient: number;
  readonly insertSeconds: number;
  readonly insertStallMs: number;
  readonly expiryStallMs: number;
  /** What is still held when all have expired. */
  readonly bytesPerClientAfter: number;
  /** The longest pause of a process that does nothing: below it, nothing can be said. */
  readonly idleStallMs: number;
}

export type MillionAnswers = { run(clients: number): Promise<MillionResult> };

/** Between two turns of the event loop: less than a millisecond's work for any of them. */
const CHUNK = 200;
const LIGHT_CLIENTS = 1_000;
/** Few beside a million, as some of them are still there when it is counted. */
const WARM_CLIENTS = 5_000;
const IDLE_MS = 500;
/** How long after the last window stores may take to forget. */
const GRACE_MS = 3_000;

type Decide = (client: string) => unknown;

await answer(async (): Promise<MillionAnswers> => {
  const [id, json] = process.argv.slice(2) as [VariantId, string];
  const setting = JSON.parse(json) as Setting;
  const variant = await loadVariant(id);
  if (!variant.decide) throw new Error(`${id} decides nothing`);
  const { decide } = await variant.decide(setting);
  return { run: (clients) => run(decide, clients, setting.windowMs) };
});

async function run(decide: Decide, clients: number, windowMs: number): Promise<MillionResult> {
  // Compiled, and what is there once and for all made.
  await insert(decide, 'warm', WARM_CLIENTS);
  const before = await held();
  const idleStallMs = await lightTraffic(() => {}, performance.now() + IDLE_MS);
  const began = performance.now();
  const insertStallMs = await insert(decide, 'client', clients);
  const inserted = performance.now();
  const full = await held();
  const expiryStallMs = await lightTraffic(decide, inserted + windowMs + GRACE_MS);
  const after = await held();
  return {
    bytesPerClient: (full - before) / clients,
    insertSeconds: (inserted - began) / 1_000,
    insertStallMs,
    expiryStallMs,
    bytesPerClientAfter: Math.max(0, after - before) / clients,
    idleStallMs,
  };
}

/** Resolves with the longest turn of the event loop, in milliseconds. */
async function insert(decide: Decide, name: string, clients: number): Promise<number> {
  const turns = new Turns();
  for (let done = 0; done < clients; done += CHUNK) {
    for (let client = done; client < done + CHUNK; client += 1) {
      const decision = decide(`${name}-${client}`);
      if (decision instanceof Promise) await decision;
    }
    await turns.next();
  }
  return turns.longest;
}

/** One decision a turn, for as long as it takes, while the store forgets. */
async function lightTraffic(decide: Decide, until: number): Promise<number> {
  const turns = new Turns();
  for (let turn = 0; performance.now() < until; turn += 1) {
    const decision = decide(`light-${turn % LIGHT_CLIENTS}`);
    if (decision instanceof Promise) await decision;
    await turns.next();
  }
  return turns.longest;
}

/** From turn to turn, collections of garbage included. */
class Turns {
  #last = performance.now();
  longest = 0;

  async next(): Promise<void> {
    await new Promise(setImmediate);
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.#last);
    this.#last = now;
  }
}

async function held(): Promise<number> {
  for (let times = 0; times < 2; times += 1) {
    globalThis.gc?.();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage(); // array buffers are part of `external`
  return heapUsed + external;
}
