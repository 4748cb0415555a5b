/**
 * Requests per second and latency of the sample's catalogue without a limiter, with the memory store and with Valkey:
 * 50 connections, 1,000 clients, everything allowed. Rounds are interleaved, because machines are noisy; the medians
 * are compared within this run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import autocannon from 'autocannon';
import { startValkey } from '../../tools/local-valkey.js';

const VARIANTS = ['none', 'memory', 'valkey'] as const;
const ROUNDS = 5;
const SECONDS = 4;
const CLIENTS = 1_000;

type Variant = (typeof VARIANTS)[number];

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const valkey = await startValkey();
const servers = await Promise.all(VARIANTS.map((variant) => startServer(variant, valkey.url)));
const rounds = new Map<Variant, Round[]>(VARIANTS.map((variant) => [variant, []]));
try {
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { variant, port } of servers) {
      const measured = await load(port, round === 0 ? 1 : SECONDS);
      if (round > 0) rounds.get(variant)!.push(measured); // the first only warms up
      process.stderr.write('.');
    }
  }
} finally {
  for (const { child } of servers) child.kill('SIGTERM');
  await valkey.stop();
}
process.stderr.write('\n');

const base = median(rounds.get('none')!.map(({ perSecond }) => perSecond));
console.log('limiter   requests/s   ratio   p50 ms   p99 ms');
for (const variant of VARIANTS) {
  const of = (name: keyof Round) => median(rounds.get(variant)!.map((round) => round[name]));
  const perSecond = of('perSecond');
  console.log(
    [
      variant.padEnd(7),
      perSecond.toFixed(0).padStart(12),
      (perSecond / base).toFixed(2).padStart(7),
      of('p50').toFixed(1).padStart(8),
      of('p99').toFixed(1).padStart(8),
    ].join(' '),
  );
}
console.log(
  `Node ${process.versions.node}, ${valkey.name} ${valkey.version}, ${cpus().length} × ${cpus()[0]?.model}; ` +
    `medians of ${ROUNDS} rounds of ${SECONDS} s`,
);

async function startServer(variant: Variant, url: string) {
  const script = new URL('./server.ts', import.meta.url).pathname;
  const child = spawn('node', ['--import', 'tsx', script, variant], {
    // The bench's own tsconfig resolves the library to what was built, and not to its sources.
    env: {
      ...process.env,
      VALKEY_URL: url,
      NODE_ENV: 'production',
      TSX_TSCONFIG_PATH: `${import.meta.dirname}/../tsconfig.json`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { variant, child, port: Number(line) };
}

async function load(port: number, seconds: number): Promise<Round> {
  const requests = Array.from({ length: CLIENTS }, (_, client) => ({
    path: '/products',
    headers: { 'x-client': `client-${client}` },
  }));
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: 50,
    duration: seconds,
    requests,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
