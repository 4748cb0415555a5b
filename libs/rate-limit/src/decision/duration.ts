const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * A length of time: a whole number with a unit, or a whole number of milliseconds.
 *
 * @example
 * '250ms', '10s', '1m', '1h', '30d', 1500
 */
export type Duration = number | `${bigint}${keyof typeof UNITS}`;

const WRITTEN = /^(\d{1,15})(ms|s|m|h|d)$/;

/** Milliseconds of a duration, or `undefined` if it is not one: fractions, signs and other units are not. */
export function parseDuration(duration: unknown): number | undefined {
  if (typeof duration === 'number')
    return Number.isSafeInteger(duration) && duration >= 0 ? duration : undefined;
  if (typeof duration !== 'string') return undefined;
  const match = WRITTEN.exec(duration);
  if (match === null) return undefined;
  const milliseconds = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}
