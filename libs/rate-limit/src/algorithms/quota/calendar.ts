import { Temporal } from 'temporal-polyfill';

export type Period = 'hour' | 'day' | 'week' | 'month';

/** Where the periods of a calendar begin. */
export interface CalendarOptions {
  readonly period: Period;
  /** An IANA name such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** The day on which it begins: of the week, 1 (Monday) to 7; of the month, 1 to 31, or the last where there are fewer. */
  readonly anchor: number;
}

/**
 * The periods of a calendar as points in time. A month is a month, and a day on which the clocks change has 23 or 25
 * hours. The last answer is kept, so that the calendar is asked once a period.
 *
 * @example
 * new Calendar({ period: 'month', timeZone: 'Europe/Berlin', anchor: 1 }).around(Date.now())
 */
export class Calendar {
  #around: readonly [number, number, number, number] = [0, 0, 0, 0];

  constructor(private readonly options: CalendarOptions) {}

  /** When the period before `now`'s, `now`'s own, the next and the one after it begin, in milliseconds since 1970. */
  around(now: number): readonly [number, number, number, number] {
    const [, start, end] = this.#around;
    if (now >= start && now < end) return this.#around;
    const { timeZone } = this.options;
    const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone);
    let index = 0;
    // The period's date may be a day's change of clocks away from its point in time: step to the one that holds now.
    while (this.#begin(today, index) > now) index -= 1;
    while (this.#begin(today, index + 1) <= now) index += 1;
    this.#around = [
      this.#begin(today, index - 1),
      this.#begin(today, index),
      this.#begin(today, index + 1),
      this.#begin(today, index + 2),
    ];
    return this.#around;
  }

  /** When the period that is `index` after today's begins. */
  #begin(today: Temporal.ZonedDateTime, index: number): number {
    const { period, anchor, timeZone } = this.options;
    if (period === 'hour') {
      return today.round({ smallestUnit: 'hour', roundingMode: 'floor' }).add({ hours: index })
        .epochMilliseconds;
    }
    return dateOf(today.toPlainDate(), period, anchor, index).toZonedDateTime(timeZone).epochMilliseconds;
  }
}

function dateOf(
  today: Temporal.PlainDate,
  period: Period,
  anchor: number,
  index: number,
): Temporal.PlainDate {
  if (period === 'day') return today.add({ days: index });
  if (period === 'week') {
    const sinceAnchor = (today.dayOfWeek - anchor + 7) % 7;
    return today.add({ days: index * 7 - sinceAnchor });
  }
  // From the first, because the 31st of one month plus a month would be the 30th of the next, and stay it.
  const month = today.with({ day: 1 }).add({ months: index });
  return month.with({ day: Math.min(anchor, month.daysInMonth) });
}

/** Whether a text names a time zone that this Node knows. */
export function isTimeZone(name: unknown): name is string {
  if (typeof name !== 'string') return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
