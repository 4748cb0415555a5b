import { table } from '../table.js';
import { clientNotes, readingNotes } from './notes.js';
import { amount, percent, share } from './show.js';
import type { Suggestion } from './suggest.js';
import { showLength, showTime } from './time.js';

/** Nearly a day: a log of one seldom begins and ends in the same second of it. */
const DAY_MS = 23 * 3_600_000;

export function suggestionTable(suggestion: Suggestion): string {
  const { algorithm, window, limit, clients, refused, refusedByOneLess, reading } = suggestion;
  const rows = [[`${algorithm}:${limit}/${window}`, share(refused, clients)]];
  if (refusedByOneLess !== undefined) {
    rows.push([`${algorithm}:${limit - 1}/${window}`, share(refusedByOneLess, clients)]);
  }
  const time = `from ${showTime(reading.from!)} to ${showTime(reading.to!)}`;
  return [
    `The smallest limit that refuses something to at most ${suggestion.refusePercent} % of the clients is ${amount(limit)} in ` +
      `${window}, told apart by ${suggestion.key}, ${time}.\n`,
    table(['limit', 'clients refused'], rows, suggestion.runOn),
    ...howSure(suggestion).map((line) => `- ${line}`),
  ].join('\n');
}

/** What the number can be relied on for, and what not. */
export function howSure(suggestion: Suggestion): string[] {
  const { clients, refusePercent, reading, reads, otherRequests, mostClients } = suggestion;
  const lines = [
    otherRequests === 0
      ? `For this log it is exact: it was read ${reads} times, and every limit was tried out by the library itself.`
      : 'It is not exact: it is that of the clients that are kept apart.',
  ];
  const { low, high } = suggestion.likely;
  lines.push(
    `Of other clients like these ${amount(clients)}, it would refuse between ${percent(low)} and ${percent(high)} ` +
      '(95 % sure, if they come as these did).',
  );
  const needed = refusePercent === 0 ? Infinity : Math.ceil(100 / refusePercent);
  if (refusePercent > 0 && clients < needed) {
    lines.push(
      `${amount(clients)} clients are too few for ${refusePercent} %: the limit is what the busiest of them needs. ` +
        `It takes ${amount(needed)}.`,
    );
  }
  const length = reading.to! - reading.from!;
  if (length < DAY_MS) {
    lines.push(`The log is ${showLength(length)} long: busier hours of the day may not be in it.`);
  }
  return [...lines, ...clientNotes(otherRequests, mostClients), ...readingNotes(reading)];
}
