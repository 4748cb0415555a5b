import { RateLimitConfigError } from '../../decision/config-error.js';
import type { OptionReader } from '../../decision/option-reader.js';
import { defineAlgorithm } from '../algorithm.js';
import { MAX_LIMIT } from '../limits.js';
import { step, verdicts, type WindowState } from '../window/window.js';
import lua from '../window/window.lua.js';
import { Calendar, isTimeZone, type Period } from './calendar.js';

interface QuotaBase {
  /** How much in one period: 0 to 10^15 − 1. 0 refuses everything. */
  limit: number;
  /**
   * The IANA time zone whose calendar counts, such as `'Europe/Berlin'`. Left out: that of whoever is counted, as
   * `identify.timeZone` tells it, or else `'UTC'`.
   */
  timeZone?: string;
}

/**
 * A calendar allowance: `limit` per hour, day, week or month of a time zone. A month is a month, and a day on which the
 * clocks change has 23 or 25 hours.
 *
 * @example
 * { algorithm: 'quota', limit: 10_000, period: 'month', timeZone: 'Europe/Berlin', anchor: 15 }
 */
export type QuotaOptions = QuotaBase &
  (
    | { period: 'hour' | 'day' }
    | {
        period: 'week' | 'month';
        /**
         * The day on which the period begins: of the week, 1 (Monday) to 7; of the month, 1 to 31, where a month that
         * is shorter begins on its last day. Left out: 1.
         */
        anchor?: number;
      }
  );

interface QuotaParams {
  readonly limit: number;
  readonly calendar: Calendar;
}

const LAST_ANCHOR: Readonly<Record<Period, number>> = { hour: 0, day: 0, week: 7, month: 31 };

export const quota = defineAlgorithm<QuotaOptions, QuotaParams, WindowState>({
  id: 'q',
  compile: (options) => {
    const limit = options.integer('limit', { min: 0, max: MAX_LIMIT });
    const period = readPeriod(options);
    const timeZone = options.value('timeZone') ?? 'UTC';
    if (!isTimeZone(timeZone)) {
      throw options.refuse('timeZone', "the IANA name of a time zone, such as 'Europe/Berlin'", timeZone);
    }
    const last = LAST_ANCHOR[period];
    const anchor = last === 0 ? 1 : options.integer('anchor', { min: 1, max: last }, 1);
    return { limit, calendar: new Calendar({ period, timeZone, anchor }) };
  },
  // Months and days have no one length, so none is announced.
  quota: ({ limit }) => ({ limit, windowMs: undefined, unit: 'requests' }),
  args: ({ limit }) => [limit, 0],
  callArgs: ({ calendar }, _, now) => calendar.around(now),
  readings: 2,
  step: (state, now, ask, { limit, calendar }) => {
    const [, start, end] = calendar.around(now);
    return step(state, now, ask, limit, { start, end });
  },
  ...verdicts,
  lua,
});

function readPeriod(options: OptionReader): Period {
  const period = options.value('period');
  if (typeof period === 'string' && Object.hasOwn(LAST_ANCHOR, period)) return period as Period;
  const wanted = "'hour', 'day', 'week' or 'month'";
  if (options.value('window') === undefined) throw options.refuse('period', wanted, period);
  throw new RateLimitConfigError(
    'INVALID_PERIOD',
    options.where,
    `quota counts by the calendar: say period (${wanted}) instead of window, or take fixed-window.`,
  );
}
