import { table } from '../table.js';
import type { ClientRefusals, PolicyOutcome } from './outcome.js';
import { notesOf } from './notes.js';
import type { Replay } from './replay.js';
import { amount, share, visible } from './show.js';
import { showLength, showTime } from './time.js';

const LEVELS = ' ▁▂▃▄▅▆▇█';
const MOST_LEVELS = 40;
const MOST_NAMED = 3;

/** A column for each policy. */
export function replayTable(result: Replay): string {
  const { policies, requests, clients } = result;
  const row = (name: string, cell: (policy: PolicyOutcome, index: number) => string) => [
    name,
    ...policies.map(cell),
  ];
  const rows = [
    row('limit', ({ written }) => written),
    row('requests refused', ({ requestsRefused }) => share(requestsRefused, requests)),
    row('clients refused', ({ clientsRefused }) => share(clientsRefused, clients)),
    row(
      'refused most',
      ({ refusedMost }) => refusedMost.slice(0, MOST_NAMED).map(showClient).join(', ') || '-',
    ),
    row('first refusal', ({ firstRefusal }) => when(firstRefusal)),
    row('last refusal', ({ lastRefusal }) => when(lastRefusal)),
    row('worst minute', ({ worstMinute }) =>
      worstMinute === undefined ? '-' : `${showTime(worstMinute.at)}: ${amount(worstMinute.refused)}`,
    ),
    ...(['p50', 'p95', 'p99', 'most'] as const).map((which) =>
      row(CLOSENESS[which], ({ closeness }) => `${Math.round(closeness[which] * 100)} %`),
    ),
    row('refusals over time', (_, index) => levels(result, index)),
  ];
  if (policies.some(({ longestWaitMs }) => longestWaitMs > 0)) {
    rows.push(row('longest wait for a turn', ({ longestWaitMs }) => showLength(longestWaitMs)));
  }
  return [
    `${summary(result)}\n`,
    table(['what it would have done', ...policies.map(({ name }) => name)], rows, result.runOn),
    ...notesOf(result).map((note) => `- ${note}`),
  ].join('\n');
}

export const CLOSENESS = {
  p50: 'limit used at worst, half of the clients',
  p95: 'limit used at worst, 95 % of the clients',
  p99: 'limit used at worst, 99 % of the clients',
  most: 'limit used at worst, all clients',
} as const;

export function summary({ requests, clients, otherRequests, key, reading }: Replay): string {
  const time = `from ${showTime(reading.from!)} to ${showTime(reading.to!)}`;
  const more = otherRequests > 0 ? 'more than ' : '';
  return `${amount(requests)} requests of ${more}${amount(clients)} clients, told apart by ${key}, ${time}.`;
}

function showClient({ client, refused, requests }: ClientRefusals): string {
  // A bar would end the cell of the table.
  return `${visible(client).replaceAll('|', '¦')} (${amount(refused)} of ${amount(requests)})`;
}

function when(at: number | undefined): string {
  return at === undefined ? '-' : showTime(at);
}

/** Some bars together, each as high as it is beside the highest; what is not nothing can be seen. */
function levels({ bars }: Replay, policy: number): string {
  const together = Math.ceil(bars.length / MOST_LEVELS);
  const sums: number[] = [];
  for (const [index, { refused }] of bars.entries()) {
    const at = Math.floor(index / together);
    sums[at] = (sums[at] ?? 0) + refused[policy]!;
  }
  const highest = Math.max(1, ...sums);
  return sums.map((sum) => LEVELS[Math.ceil((sum / highest) * (LEVELS.length - 1))]).join('');
}
