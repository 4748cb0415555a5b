import { RateLimitConfigError, show } from './config-error.js';
import { parseDuration } from './duration.js';

interface Range {
  readonly min: number;
  readonly max: number;
}

/** @throws {RateLimitConfigError} for what is no object, or a list */
export function requireObject(where: string, options: unknown): asserts options is object {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return;
  throw new RateLimitConfigError('OPTIONS', where, `options must be an object, not ${show(options)}.`);
}

/**
 * Reads an options object whose values come from outside TypeScript's sight, one option at a time, and refuses in the
 * end what nobody read. Every refusal is a {@link RateLimitConfigError}.
 */
export class OptionReader {
  readonly #known = new Set<string>();
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(
    readonly where: string,
    options: unknown,
  ) {
    requireObject(where, options);
    this.#options = options as Readonly<Record<string, unknown>>;
  }

  /** The raw value of an option, marked as known. */
  value(name: string): unknown {
    this.#known.add(name);
    return this.#options[name];
  }

  /** `null` is not the same as left out: it is a value, and mostly a wrong one. */
  #valueOr(name: string, fallback: unknown): unknown {
    const value = this.value(name);
    return value === undefined ? fallback : value;
  }

  integer(name: string, range: Range, fallback?: number): number {
    const value = this.#valueOr(name, fallback);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= range.min && value <= range.max)
      return value;
    const mend = typeof value === 'string' ? ` Convert it first: Number(…).` : '';
    throw this.refuse(name, `a whole number from ${range.min} to ${range.max}`, value, mend);
  }

  /** An option that is a duration, in milliseconds. */
  duration(name: string, range: Range, fallback?: number): number {
    const value = this.#valueOr(name, fallback);
    const milliseconds = parseDuration(value);
    if (milliseconds !== undefined && milliseconds >= range.min && milliseconds <= range.max)
      return milliseconds;
    throw this.refuse(
      name,
      `a duration such as '10s', '1m', '1h' or a whole number of milliseconds, from ${range.min} to ${range.max} ms`,
      value,
    );
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], fallback: Word): Word {
    const value = this.#valueOr(name, fallback);
    if (words.includes(value as Word)) return value as Word;
    throw this.refuse(name, words.map((word) => `'${word}'`).join(' or '), value);
  }

  /** An option that is on or off. Left out: off. */
  flag(name: string): boolean {
    const value = this.#valueOr(name, false);
    if (typeof value === 'boolean') return value;
    throw this.refuse(name, 'true or false', value);
  }

  /** An optional function; `what` says what for. */
  optionalFunction<F>(name: string, what: string): F | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'function') return value as F | undefined;
    throw this.refuse(name, what, value);
  }

  /** Refuses every option that was not read. */
  done(): void {
    const foreign = Object.keys(this.#options).filter((name) => !this.#known.has(name));
    if (foreign.length === 0) return;
    throw new RateLimitConfigError(
      'UNKNOWN_OPTION',
      this.where,
      `there is no option ${foreign.map((name) => `"${name}"`).join(', ')} here. Known: ${[...this.#known].join(', ')}.`,
    );
  }

  refuse(name: string, wanted: string, value: unknown, mend = ''): RateLimitConfigError {
    const code = `INVALID_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
    const got = value === undefined ? 'and it is missing' : `not ${show(value)}`;
    return new RateLimitConfigError(code, this.where, `${name} must be ${wanted}, ${got}.${mend}`);
  }
}
