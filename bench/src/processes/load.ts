/** Sends requests as fast as they are answered, from a process of its own. */
import autocannon, { type Result } from 'autocannon';
import { CLIENT_FIELD } from '../contestants/contestant.js';
import { Latencies } from '../measure/latencies.js';
import { answer } from './answer.js';

export interface LoadTask {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  /** The requests come from them in turns. */
  readonly clients: readonly string[];
  readonly method?: 'GET' | 'POST';
  readonly path?: string;
}

export interface LoadResult {
  /** From the first answer to the last. */
  readonly seconds: number;
  readonly answered: number;
  readonly failed: number;
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
  /** Of one core: at 1 it is this process that is measured. */
  readonly cpuShare: number;
}

export type LoadAnswers = { load(task: LoadTask): Promise<LoadResult> };

await answer((): LoadAnswers => ({ load }));

async function load({ port, seconds, connections, clients, method = 'GET', path = '/' }: LoadTask) {
  const latencies = new Latencies();
  const statuses: Record<string, number> = {};
  let connection = 0;
  let first = 0;
  let last = 0;
  // Each connection has clients of its own, so that each request is put together once, and before the first is sent.
  const requestsOf = (index: number) => {
    const mine = clients.filter((_, client) => client % connections === index % clients.length);
    return mine.map((client) => ({ method, path, headers: { [CLIENT_FIELD]: client } }));
  };
  const cpu = process.cpuUsage();
  const began = performance.now();
  const { errors, timeouts } = await new Promise<Result>((resolve, reject) => {
    const run = autocannon(
      {
        url: `http://127.0.0.1:${port}`,
        connections,
        duration: seconds,
        sampleInt: 50, // it ends at the next sample
        setupClient: (client) => {
          client.setRequests(requestsOf(connection));
          connection += 1;
        },
      },
      (error, result) => (error ? reject(error as Error) : resolve(result)),
    );
    // Its own latencies are whole milliseconds.
    run.on('response', (_client, status, _bytes, milliseconds) => {
      last = performance.now();
      first ||= last;
      latencies.add(milliseconds);
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
  });
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return {
    seconds: (last - first) / 1_000,
    answered: latencies.count,
    failed: errors + timeouts,
    statuses,
    p50: latencies.quantile(0.5),
    p99: latencies.quantile(0.99),
    cpuShare: (user + system) / 1_000 / elapsed,
  };
}
