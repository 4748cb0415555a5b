import type { AlgorithmName } from 'nestjs-valkey-rate-limit';
import { BASE, openLimiter } from '../limiter.js';
import { runOn, type RunOn, type ValkeyPlace } from '../place.js';
import { ALGORITHMS, hourlyPolicies } from '../policies.js';
import type { Progress } from '../progress.js';
import { table } from '../table.js';
import { keysOf } from '../valkey/valkey.js';
import { plainLayouts } from './plain-layouts.js';

export interface Weight {
  /** An algorithm's name, or what the layout is. */
  readonly name: string;
  /** MEMORY USAGE of all keys of the client, summed. */
  readonly bytes: number;
  readonly keys: number;
  /** How long the keys' names are, which MEMORY USAGE counts too. */
  readonly keyLength: number;
}

export interface Weights {
  readonly command: 'memory';
  readonly requests: number;
  readonly limit: number;
  readonly window: '1h';
  readonly weights: readonly Weight[];
  readonly runOn: RunOn;
}

const REQUESTS = 1_000;
/** What the budgets of this project are for. */
const KEY_LENGTH = 24;

/** One client's state in Valkey after 1,000 requests at a limit of 1,000 per hour. */
export async function memory(place: ValkeyPlace, progress: Progress): Promise<Weights> {
  const weights: Weight[] = [];
  for (const algorithm of ALGORITHMS) {
    progress.say(`${algorithm}: ${REQUESTS} requests`);
    weights.push(await weighAlgorithm(place, algorithm));
  }
  for (const [index, { name, count }] of plainLayouts.entries()) {
    progress.say(`${name}: ${REQUESTS} requests`);
    const key = `${place.prefix}plain:${index}`.padEnd(KEY_LENGTH, '-');
    for (const [number, at] of times().entries()) await count(place.client, key, BASE + at, number);
    await place.client.expire(key, 3_600);
    weights.push(await weigh(place, name, key));
  }
  return {
    command: 'memory',
    requests: REQUESTS,
    limit: REQUESTS,
    window: '1h',
    weights,
    runOn: runOn(place),
  };
}

async function weighAlgorithm(place: ValkeyPlace, algorithm: AlgorithmName): Promise<Weight> {
  // A short name leaves room for the rest; which algorithm it is, the key says by itself.
  const limiter = await openLimiter(place, { p: hourlyPolicies(REQUESTS)[algorithm] });
  const client = `c${ALGORITHMS.indexOf(algorithm)}`.padEnd(subjectLength(place.prefix, algorithm), '-');
  for (const at of times()) {
    const { outcome } = await limiter.consume('p', client, at);
    if (outcome !== 'allowed') throw new Error(`${algorithm} refused request at ${at} ms, below its limit.`);
  }
  return weigh(place, algorithm, `${place.prefix}{${client}}`);
}

/** Sums what begins with a text: a client may have more than one key, and all of them are its cost. */
async function weigh({ client }: ValkeyPlace, name: string, prefix: string): Promise<Weight> {
  const keys = await keysOf(client, prefix);
  let bytes = 0;
  for (const key of keys) bytes += (await client.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  return { name, bytes, keys: keys.length, keyLength: Math.max(...keys.map((key) => key.length)) };
}

/** A key is `PREFIX{SUBJECT}:POLICY:ID`, where the id has as many letters as the algorithm's name has words. */
function subjectLength(prefix: string, algorithm: AlgorithmName): number {
  return KEY_LENGTH - `${prefix}{}:p:`.length - algorithm.split('-').length;
}

/** 1,000 requests in 58 minutes, unevenly: even times would be smaller numbers than real ones. */
function times(): readonly number[] {
  return Array.from({ length: REQUESTS }, (_, index) => index * 3_500 + ((index * 7_919) % 1_009));
}

export function memoryTable({ weights, runOn: ranOn }: Weights): string {
  return table(
    ['after 1,000 requests of one client, 1,000 per hour', 'bytes', 'keys', 'characters in a key'],
    weights.map(({ name, bytes, keys, keyLength }) => [
      name,
      grouped(bytes),
      String(keys),
      String(keyLength),
    ]),
    ranOn,
  );
}

function grouped(number: number): string {
  return number.toLocaleString('en-US');
}
