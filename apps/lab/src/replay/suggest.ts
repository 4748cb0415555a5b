import type { PolicyName, RateLimitPolicy } from 'nestjs-valkey-rate-limit';
import { BadOptionError } from '../bad-option.js';
import { runOn, type Place, type RunOn } from '../place.js';
import type { RateAlgorithm } from '../policies.js';
import type { Progress } from '../progress.js';
import { Clients } from './clients.js';
import { openReplayer } from './policy-option.js';
import { newReading, type Reading, type ReadOptions, readLogs } from './read-log.js';
import type { Source } from './source.js';
import { wilson } from './wilson.js';

export interface SuggestOptions extends ReadOptions {
  readonly algorithm: RateAlgorithm;
  /** As it was written. */
  readonly window: string;
  /** The greatest share of clients that may be refused anything, in percent. */
  readonly refusePercent: number;
  readonly mostClients: number;
}

export interface Suggestion {
  readonly command: 'suggest';
  readonly logs: readonly string[];
  readonly algorithm: RateAlgorithm;
  readonly window: string;
  readonly key: string;
  readonly refusePercent: number;
  /** The smallest that refuses no more clients than that. */
  readonly limit: number;
  readonly clients: number;
  /** Clients that the limit refuses something. */
  readonly refused: number;
  /** Those whom one less refuses something; `undefined` where there is no less. */
  readonly refusedByOneLess: number | undefined;
  /** In which range that share is for other clients like these, 19 times of 20. */
  readonly likely: { readonly low: number; readonly high: number };
  readonly otherRequests: number;
  readonly mostClients: number;
  /** How often the logs were read. */
  readonly reads: number;
  readonly reading: Reading;
  readonly runOn: RunOn;
}

/** Limits that are tried out in one reading, as reading costs about as much as deciding. */
const AT_A_TIME = 7;

/** The library's, of sliding-log: it remembers every request. */
const LONGEST_LOG = 10_000;

/**
 * Finds the limit by halves: whoever is never refused under a limit is not under a higher one either, with all of the five
 * algorithms, so the number of refused clients only falls. Each limit is tried out on the whole of the logs by the library.
 *
 * @throws {BadOptionError} (rejects) for what can be read only once
 */
export async function suggest(
  place: Place,
  progress: Progress,
  sources: readonly Source[],
  options: SuggestOptions,
): Promise<Suggestion> {
  requireFiles(sources);
  // What is wrong with the window is said before the log is read.
  const first = await openReplayer(toPolicy(options, 1), () => 0);
  await first.limiter.close();
  const clients = new Clients(options.mostClients);
  const reading = newReading();
  for await (const requests of readLogs(sources, options, reading, progress)) {
    for (const { key } of requests) clients.count(key);
  }
  // In whole clients; a little more, because 0.29 × 100 is 28.999999999999996.
  const most = Math.floor((options.refusePercent * clients.size) / 100 + 1e-9);
  const tried = new Map<number, number>([[0, clients.size]]);
  let reads = 1;
  const tryOut = async (limits: readonly number[]) => {
    reads += 1;
    const refused = await countRefused(sources, options, limits, clients, progress);
    for (const [index, limit] of limits.entries()) tried.set(limit, refused[index]!);
  };
  const highest = enough(clients, most);
  let [low, high] = [0, Math.min(highest, options.algorithm === 'sliding-log' ? LONGEST_LOG : highest)];
  await tryOut([high]);
  if (tried.get(high)! > most) throw logTooShort(options, tried.get(high)!);
  while (high - low > 1) {
    const limits = between(low, high);
    await tryOut(limits);
    low = limits.findLast((limit) => tried.get(limit)! > most) ?? low;
    high = limits.find((limit) => tried.get(limit)! <= most) ?? high;
  }
  return {
    command: 'suggest',
    logs: sources.map(({ name }) => name),
    algorithm: options.algorithm,
    window: options.window,
    key: options.key.written,
    refusePercent: options.refusePercent,
    limit: high,
    clients: clients.size,
    refused: tried.get(high)!,
    refusedByOneLess: tried.get(high - 1),
    likely: wilson(tried.get(high)!, clients.size),
    otherRequests: clients.otherRequests,
    mostClients: options.mostClients,
    reads,
    reading,
    runOn: runOn(place),
  };
}

/** How many clients each limit refuses something. */
async function countRefused(
  sources: readonly Source[],
  options: SuggestOptions,
  limits: readonly number[],
  clients: Clients,
  progress: Progress,
): Promise<number[]> {
  let now = 0;
  const tries = await Promise.all(
    limits.map(async (limit) => ({
      limit,
      ...(await openReplayer(toPolicy(options, limit), () => now)),
      refused: new Uint8Array(clients.size),
      count: 0,
    })),
  );
  try {
    for await (const requests of readLogs(sources, options, newReading(), progress)) {
      for (const { at, key } of requests) {
        const client = clients.find(key);
        if (client === undefined) continue;
        now = at;
        const all = clients.requests.get(client);
        for (const one of tries) {
          // Whoever asks for no more than the limit in the whole log is never refused; of whom is, all is known.
          if (all <= one.limit || one.refused[client] === 1) continue;
          const { outcome } = await one.limiter.consume(NAME as PolicyName, { key });
          if (outcome === 'allowed') continue;
          one.refused[client] = 1;
          one.count += 1;
        }
      }
    }
  } finally {
    await Promise.all(tries.map(({ limiter }) => limiter.close()));
  }
  return tries.map(({ count }) => count);
}

const NAME = 'suggested';

function toPolicy({ algorithm, window }: SuggestOptions, limit: number) {
  const policy = { algorithm, limit, window } as RateLimitPolicy;
  return { name: NAME, written: `${algorithm}:${limit}/${window}`, policy };
}

/** As many requests as all but `most` clients have sent, at the most: that limit is high enough by any algorithm. */
function enough(clients: Clients, most: number): number {
  const totals = Uint32Array.from({ length: clients.size }, (_, client) => clients.requests.get(client));
  totals.sort();
  return totals[totals.length - 1 - most] ?? 0;
}

/** Evenly between two that are known, each once. */
function between(low: number, high: number): number[] {
  const count = Math.min(AT_A_TIME, high - low - 1);
  return Array.from({ length: count }, (_, index) => {
    return low + Math.floor(((high - low) * (index + 1)) / (count + 1));
  });
}

function requireFiles(sources: readonly Source[]): void {
  const once = sources.find(({ again }) => !again);
  if (once === undefined) return;
  const what = once.name === '-' ? 'the standard input' : `${once.name}, which is no file,`;
  throw new BadOptionError(
    `lab suggest reads the log several times, and ${what} can be read once. Save it to a file and name that.`,
  );
}

function logTooShort({ algorithm, window }: SuggestOptions, refused: number): Error {
  return new Error(
    `No ${algorithm} is enough: it takes limits up to ${LONGEST_LOG}, and ${refused} clients need more in ${window}. ` +
      'Take sliding-counter, which is nearly as fair.',
  );
}
