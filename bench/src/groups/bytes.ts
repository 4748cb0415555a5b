import { askAll } from '../../../tools/ask-valkey.js';
import type { LocalValkey } from '../../../tools/local-valkey.js';
import type { VariantId } from '../contestants/index.js';
import type { Round } from '../measure/statistics.js';
import type { Column } from '../report/result.js';
import { figure, tableOf, target } from '../report/tables.js';
import { type Contender, contender, startDeciding } from './contender.js';
import { type Group, ROOMY } from './group.js';

/** Ten characters, which makes our keys 24 long. */
const CLIENT = 'client-123';
const KEY_LENGTH = 24;
const HALF_HOUR_MS = 1_800_000;

interface Layout extends Contender {
  readonly requests: number;
  /** The most that it may take. */
  readonly budget?: number;
}

const LAYOUTS: readonly Layout[] = [
  ...['token-bucket', 'fixed-window', 'sliding-counter', 'leaky-bucket'].map((name) => ours(name, 5, 64)),
  ours('sliding-log', 5, 112),
  ours('sliding-log', 1_000, 10_500),
  peer('hand/valkey', 'hand-written token bucket'),
  peer('flexible/valkey', 'rate-limiter-flexible'),
  peer('throttler/redis', '@nestjs/throttler’s Redis store'),
];

const COLUMNS: readonly Column[] = [
  { name: 'bytes', label: 'bytes', digits: 0 },
  { name: 'keys', label: 'keys', digits: 0 },
  { name: 'keyLength', label: 'characters of a key', digits: 0 },
];

export const bytes: Group = {
  title: 'Bytes in Valkey for each client',
  how: [
    '`MEMORY USAGE` of all keys of one client after 5 requests, or as many as the table says, sampling everything; those of a log came over half an hour; our keys have 24 characters, the others’ are what they make of the same client',
  ],
  async run({ valkey }) {
    const rounds = new Map<string, Round[]>();
    for (const layout of LAYOUTS) rounds.set(layout.id, [await measure(valkey, layout)]);
    const title = 'One client';
    const table = tableOf({ id: 'bytes', title, columns: COLUMNS, contenders: LAYOUTS, rounds });
    const targets = LAYOUTS.flatMap(({ id, label, budget }) => {
      if (budget === undefined) return [];
      const what = `Valkey, bytes per client: ${label.replace(/^.*?, /, '')}`;
      return [target(what, figure(table, id, 'bytes'), 'at most', budget, { digits: 0, unit: 'bytes' })];
    });
    return { tables: [table], targets };
  },
};

function ours(algorithm: string, requests: number, budget: number): Layout {
  const label = `**this library**, \`${algorithm}\`${algorithm === 'sliding-log' ? ` of ${requests.toLocaleString('en')}` : ''}`;
  // A log that is full, of requests that came at odd times of the last half hour: together they would take less.
  const stepMs = Math.ceil(HALF_HOUR_MS / requests) | 1;
  const limit = algorithm === 'sliding-log' ? { limit: requests, stepMs } : {};
  const id = `ours/${algorithm}-${requests}`;
  return { ...contender('ours/valkey', { algorithm, ...limit }, label), id, requests, budget };
}

function peer(variant: VariantId, label: string): Layout {
  return { ...contender(variant, {}, label), requests: 5 };
}

async function measure(valkey: LocalValkey, layout: Layout): Promise<Round> {
  await askAll(valkey, [['FLUSHALL']]);
  const deciding = await startDeciding([layout], { valkey: valkey.url, ...ROOMY });
  try {
    const [started] = deciding.running;
    if (!started) throw new Error(`${layout.label}: ${deciding.missing.get(layout.id)}`);
    await started.child.ask('repeat', { client: CLIENT, times: layout.requests });
    const [found] = (await askAll(valkey, [['KEYS', '*']])) as [string[]];
    const sizes = await askAll(
      valkey,
      found.map((key) => ['MEMORY', 'USAGE', key, 'SAMPLES', 0]),
    );
    const keyLength = Math.max(...found.map((key) => key.length));
    if (layout.budget !== undefined && keyLength !== KEY_LENGTH)
      throw new Error(`Not ${KEY_LENGTH}: ${found.join()}`);
    return {
      bytes: sizes.reduce<number>((sum, size) => sum + Number(size), 0),
      keys: found.length,
      keyLength,
    };
  } finally {
    await deciding.stop();
  }
}
