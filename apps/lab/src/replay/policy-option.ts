import {
  createRateLimiter,
  type PolicyName,
  RateLimitConfigError,
  type RateLimiter,
  type RateLimitPolicy,
} from 'nestjs-valkey-rate-limit';
import { BadOptionError } from '../bad-option.js';
import { silently } from '../limiter.js';

/** What is to be tried out. */
export interface PolicyOption {
  readonly name: string;
  /** As it was written, without the name. */
  readonly written: string;
  readonly policy: RateLimitPolicy;
}

const HOW =
  'Write it as in api=token-bucket:100/1m:burst=20 or daily=quota:10000/day:timeZone=Europe/Berlin.';

/**
 * Reads `NAME=ALGORITHM:LIMIT/WINDOW` and what follows, `:OPTION=VALUE`. Whether the numbers can work, the library says.
 *
 * @throws {BadOptionError}
 */
export function parsePolicy(text: string): PolicyOption {
  const equals = text.indexOf('=');
  const name = text.slice(0, equals);
  const written = text.slice(equals + 1);
  const [algorithm, numbers, ...more] = written.split(':');
  const [limit, window, ...rest] = numbers?.split('/') ?? [];
  const wrong = (what: string) => new BadOptionError(`--policy ${text}: ${what}. ${HOW}`);
  if (equals < 1 || name.includes(':')) throw wrong('it has no name');
  if (limit === undefined || window === undefined || rest.length > 0) {
    throw wrong('it must say a limit and in how long it is allowed');
  }
  if (algorithm === 'concurrency') {
    throw new BadOptionError(
      `--policy ${text}: a log says when requests came or ended and not how long each was under way, so concurrency ` +
        'cannot be replayed.',
    );
  }
  const policy: Record<string, unknown> = { algorithm, limit: toNumber(limit) };
  policy[algorithm === 'quota' ? 'period' : 'window'] = window;
  for (const option of more) {
    const [key, value, ...others] = option.split('=');
    if (!key || !value || others.length > 0) throw wrong(`"${option}" is no option with a value`);
    if (Object.hasOwn(policy, key)) throw wrong(`it says ${key} twice`);
    policy[key] = toNumber(value);
  }
  return { name, written, policy: policy as unknown as RateLimitPolicy };
}

/** @throws {BadOptionError} also where two have the same name */
export function parsePolicies(texts: readonly string[]): PolicyOption[] {
  const policies = texts.map(parsePolicy);
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return policies;
  throw new BadOptionError(`--policy: two are called "${twice}". Give each a name of its own.`);
}

function toNumber(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** The library with the log's time. */
export interface Replayer {
  readonly limiter: RateLimiter;
  /** What a client can take at once that has taken nothing. */
  readonly capacity: number;
}

/**
 * A limiter of its own for each, so that each has the whole memory for its clients. Nothing between the request and the
 * decision is kept: every one is a step of the algorithm.
 *
 * @throws {BadOptionError} (rejects) for what the library refuses
 */
export async function openReplayer({ name, policy }: PolicyOption, clock: () => number): Promise<Replayer> {
  try {
    const limiter = await silently(() =>
      createRateLimiter({
        policies: { [name]: policy },
        clock,
        denyCache: 'off',
        telemetry: { refusals: 'off' },
      }),
    );
    const { outcome, ...decision } = await limiter.peek(name as PolicyName, {
      key: 'whoever has taken nothing',
    });
    if ('remaining' in decision) return { limiter, capacity: decision.remaining };
    throw new Error(`A policy that is ${outcome} cannot be replayed.`);
  } catch (error) {
    if (error instanceof RateLimitConfigError) {
      throw new BadOptionError(error.message, { cause: error });
    }
    throw error;
  }
}
