import { runOn, type Place, type RunOn } from '../place.js';
import type { Progress } from '../progress.js';
import { Clients } from './clients.js';
import type { PolicyOutcome } from './outcome.js';
import { openReplayer, type PolicyOption } from './policy-option.js';
import { newReading, type Reading, type ReadOptions, readLogs } from './read-log.js';
import type { Source } from './source.js';
import { PolicyTally } from './tally.js';
import { type Bar, Timeline } from './timeline.js';

export interface ReplayOptions extends ReadOptions {
  readonly policies: readonly PolicyOption[];
  /** How many clients are kept apart at the most. */
  readonly mostClients: number;
}

export interface Replay {
  readonly command: 'replay';
  readonly logs: readonly string[];
  readonly key: string;
  readonly requests: number;
  /** Those that were kept apart. */
  readonly clients: number;
  /** Requests of clients for whom there was no room: they are in all numbers of requests and in none of clients. */
  readonly otherRequests: number;
  readonly mostClients: number;
  readonly reading: Reading;
  readonly policies: readonly PolicyOutcome[];
  /** How many milliseconds a bar is wide. */
  readonly barMs: number;
  readonly bars: readonly Bar[];
  readonly runOn: RunOn;
}

/** What limits would have done to the requests of logs: each is asked of the library, at the time that the log says. */
export async function replay(
  place: Place,
  progress: Progress,
  sources: readonly Source[],
  options: ReplayOptions,
): Promise<Replay> {
  let now = 0;
  const reading = newReading();
  const clients = new Clients(options.mostClients);
  const timeline = new Timeline(options.policies.length);
  const tallies: PolicyTally[] = [];
  try {
    for (const policy of options.policies) {
      tallies.push(new PolicyTally(policy, await openReplayer(policy, () => now)));
    }
    for await (const requests of readLogs(sources, options, reading, progress)) {
      for (const { at, key } of requests) {
        now = at;
        const client = clients.count(key);
        timeline.add(at);
        for (let index = 0; index < tallies.length; index += 1) {
          const tally = tallies[index]!;
          if (!tally.count(await tally.ask(key), client, at)) timeline.refuse(index);
        }
      }
    }
  } finally {
    await Promise.all(tallies.map((tally) => tally.close()));
  }
  const bars = timeline.bars();
  const requests = bars.reduce((sum, bar) => sum + bar.requests, 0);
  return {
    command: 'replay',
    logs: sources.map(({ name }) => name),
    key: options.key.written,
    requests,
    clients: clients.size,
    otherRequests: clients.otherRequests,
    mostClients: options.mostClients,
    reading,
    policies: tallies.map((tally) => tally.outcome(clients, requests)),
    barMs: timeline.width,
    bars,
    runOn: runOn(place),
  };
}
