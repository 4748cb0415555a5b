/** Decisions of one limiter without an application. Arguments: the variant, and what it is told, as JSON. */
import type { Setting } from '../contestants/contestant.js';
import { loadVariant, type VariantId } from '../contestants/index.js';
import { Latencies } from '../measure/latencies.js';
import { answer } from './answer.js';

export interface DecisionTask {
  readonly milliseconds: number;
  /** How many decisions are asked for at any time. */
  readonly concurrent: number;
  readonly clients: number;
}

export interface DecisionResult {
  readonly perSecond: number;
  readonly decisions: number;
  readonly cpuMicros: number;
  readonly p50: number;
  readonly p99: number;
}

export type DecisionAnswers = {
  /** One decision for each of so many clients, so that the server knows them. */
  meet(clients: number): Promise<void>;
  /** So many decisions for one client. */
  repeat(task: { readonly client: string; readonly times: number }): Promise<void>;
  /** Many at once, each after the answer to the one before: for limiters that ask a server. */
  together(task: DecisionTask): Promise<DecisionResult>;
  /** One after the other: for limiters that answer from memory. */
  inTurn(task: DecisionTask): Promise<DecisionResult>;
};

/** What is done between two looks at the clock, and before the event loop gets its turn. */
const CHUNK = 500;
/** A prime, so that clients come in no order and each as often as the others. */
const STRIDE = 7_919;

await answer(async (): Promise<DecisionAnswers> => {
  const [id, setting] = process.argv.slice(2) as [VariantId, string];
  const variant = await loadVariant(id);
  if (!variant.decide) throw new Error(`${id} decides nothing`);
  const { decide, check } = await variant.decide(JSON.parse(setting) as Setting);
  return {
    meet: (clients) => meet(decide, names(clients)),
    repeat: ({ client, times }) =>
      meet(
        decide,
        Array.from({ length: times }, () => client),
      ),
    together: (task) => together(decide, check, task),
    inTurn: (task) => inTurn(decide, task),
  };
});

type Decide = (client: string) => unknown;
type Check = ((answer: unknown) => void) | undefined;

async function meet(decide: Decide, clients: readonly string[]): Promise<void> {
  for (let done = 0; done < clients.length; done += CHUNK) {
    await Promise.all(clients.slice(done, done + CHUNK).map(decide));
  }
}

async function together(decide: Decide, check: Check, { milliseconds, concurrent, clients }: DecisionTask) {
  const keys = names(clients);
  const latencies = new Latencies();
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + milliseconds;
  let turn = 0;
  const one = async () => {
    for (let now = began; now < end;) {
      turn = (turn + STRIDE) % clients;
      const decided = await decide(keys[turn]!);
      check?.(decided);
      const after = performance.now();
      latencies.add(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, one));
  return result(latencies.count, began, cpu, latencies);
}

async function inTurn(decide: Decide, { milliseconds, clients }: DecisionTask) {
  const keys = names(clients);
  const cpu = process.cpuUsage();
  const began = performance.now();
  let decisions = 0;
  let turn = 0;
  for (const end = began + milliseconds; performance.now() < end;) {
    for (let inChunk = 0; inChunk < CHUNK; inChunk += 1) {
      turn = (turn + STRIDE) % clients;
      const decision = decide(keys[turn]!);
      if (decision instanceof Promise) await decision;
      decisions += 1;
    }
    await new Promise(setImmediate);
  }
  return result(decisions, began, cpu);
}

function result(decisions: number, began: number, cpu: NodeJS.CpuUsage, latencies?: Latencies) {
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: decisions / seconds,
    decisions,
    cpuMicros: user + system,
    p50: latencies?.quantile(0.5) ?? 0,
    p99: latencies?.quantile(0.99) ?? 0,
  };
}

let made: readonly string[] = [];

/** Made once: making a million of them takes longer than deciding about them. */
function names(clients: number): readonly string[] {
  if (made.length !== clients) made = Array.from({ length: clients }, (_, client) => `client-${client}`);
  return made;
}
