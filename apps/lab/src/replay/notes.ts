import type { Replay } from './replay.js';
import { MOST_CLIENTS } from './clients.js';
import type { Reading } from './read-log.js';
import { amount } from './show.js';
import { showLength } from './time.js';

/** So late, lines are not a little out of order. */
const LATE_MS = 600_000;

/** What is to be known of a result. */
export function notesOf({ reading, otherRequests, mostClients }: Replay): string[] {
  return [...readingNotes(reading), ...clientNotes(otherRequests, mostClients)];
}

export function readingNotes({ lines, broken, firstBroken, withoutKey, late, latestMs }: Reading): string[] {
  const notes: string[] = [];
  if (broken > 0) {
    const shown = firstBroken.map(({ log, line, text }) => `${log}:${line} ${JSON.stringify(text)}`);
    notes.push(
      `${amount(broken)} of ${amount(lines)} lines could not be read. The first: ${shown.join(', ')}`,
    );
  }
  if (withoutKey > 0) {
    notes.push(`${amount(withoutKey)} requests do not say whom to count and were left out.`);
  }
  if (late > 0) {
    const mend = latestMs > LATE_MS ? ' If that is not meant, name the logs in the order of their time.' : '';
    notes.push(
      `${amount(late)} requests are earlier than one before them, by ${showLength(latestMs)} at the most, and were ` +
        `counted at its time.${mend}`,
    );
  }
  return notes;
}

export function clientNotes(otherRequests: number, mostClients: number): string[] {
  if (otherRequests === 0) return [];
  const limits = mostClients < MOST_CLIENTS ? ' --clients raises that.' : '';
  return [
    `Only the first ${amount(mostClients)} clients are kept apart.${limits} ${amount(otherRequests)} requests of others ` +
      'are in the numbers of requests and not in those of clients. Refusals are exact as long as no more than ' +
      `${amount(MOST_CLIENTS)} clients have something left to wait for at the same time.`,
  ];
}
