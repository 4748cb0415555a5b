/**
 * What TypeScript refuses, and what it lets through. Compiled by the type check and never run: a line under
 * `@ts-expect-error` that compiles is an error there.
 *
 * The policies `api` and `login` are those that the sample registers for the whole program.
 */
import { Controller, Get } from '@nestjs/common';
import {
  type Decision,
  definePolicies,
  type Duration,
  key,
  type KeyNeed,
  RateLimit,
  type RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
  type RateLimitPolicy,
  SkipRateLimit,
} from 'nestjs-valkey-rate-limit';
import type { policies } from '../apps/api/src/rate-limits.js';

declare const limiter: RateLimiter;

export const names: (keyof typeof policies)[] = ['api', 'login'];

const bucket = { algorithm: 'token-bucket', limit: 100, window: '1m' } as const;
const fixed = { algorithm: 'fixed-window', limit: 100, window: '1m' } as const;

// --- Policies -------------------------------------------------------------------------------------------------------

definePolicies({
  bucket,
  fixed,
  burst: { ...bucket, burst: 10 },
  full: { ...fixed, key: key.ip({ ipv6Prefix: 56 }), cost: 2, onStoreFailure: 'open' },
  dynamic: { ...fixed, key: ({ request }) => request.ip, cost: ({ request }) => request['query'].pages },
  milliseconds: { ...fixed, window: 1_500 },
  hot: { ...fixed, slice: { share: 0.1 } },
});

// @ts-expect-error a burst is the bucket's
definePolicies({ wrong: { ...fixed, burst: 10 } });
// @ts-expect-error an option that no algorithm has
definePolicies({ wrong: { ...bucket, ttl: 10 } });
// @ts-expect-error the module's option
definePolicies({ wrong: { ...bucket, everyRoute: ['api'] } });
// @ts-expect-error a name is the key here
definePolicies({ wrong: { ...bucket, name: 'right' } });
// @ts-expect-error no limit
definePolicies({ wrong: { algorithm: 'fixed-window', window: '1m' } });
// @ts-expect-error no window
definePolicies({ wrong: { algorithm: 'fixed-window', limit: 5 } });
// @ts-expect-error no algorithm
definePolicies({ wrong: { limit: 5, window: '1m' } });
// @ts-expect-error an unknown algorithm
definePolicies({ wrong: { algorithm: 'leaky-bukcet', limit: 5, window: '1m' } });
// @ts-expect-error a limit that is a text
definePolicies({ wrong: { ...fixed, limit: '5' } });
// @ts-expect-error a limit that may be missing
definePolicies({ wrong: { ...fixed, limit: undefined } });
// @ts-expect-error a failure mode that there is not
definePolicies({ wrong: { ...fixed, onStoreFailure: 'fail' } });
// @ts-expect-error a slice says how much
definePolicies({ wrong: { ...fixed, slice: { for: '100ms' } } });
// @ts-expect-error a duration
definePolicies({ wrong: { ...fixed, slice: { share: 0.1, for: 'soon' } } });
// @ts-expect-error a cost that is a text
definePolicies({ wrong: { ...fixed, cost: '2' } });
// @ts-expect-error a cost that is a promise
definePolicies({ wrong: { ...fixed, cost: () => Promise.resolve(2) } });
// @ts-expect-error a key that is a text
definePolicies({ wrong: { ...fixed, key: 'ip' } });
// @ts-expect-error a key that is a promise
definePolicies({ wrong: { ...fixed, key: async () => 'me' } });
// @ts-expect-error a key that is a number
definePolicies({ wrong: { ...fixed, key: () => 5 } });
// @ts-expect-error a key that was not called
definePolicies({ wrong: { ...fixed, key: key.ip } });
// @ts-expect-error a key that was not called
definePolicies({ wrong: { ...fixed, key: key.user } });
// @ts-expect-error a policy that is a promise
definePolicies({ wrong: Promise.resolve(fixed) });

// --- Durations ------------------------------------------------------------------------------------------------------

const durations: Duration[] = ['250ms', '10s', '1m', '1h', '30d', 1_500];
// @ts-expect-error a unit that there is not
definePolicies({ wrong: { ...fixed, window: '10x' } });
// @ts-expect-error no unit
definePolicies({ wrong: { ...fixed, window: '10' } });
// @ts-expect-error no number
definePolicies({ wrong: { ...fixed, window: 'm' } });
// @ts-expect-error a word
definePolicies({ wrong: { ...fixed, window: '1 minute' } });
// @ts-expect-error a text that may be anything
definePolicies({ wrong: { ...fixed, window: String(durations[0]) } });

// --- The module -----------------------------------------------------------------------------------------------------

RateLimitModule.forRoot({});
RateLimitModule.forRoot({ policies: { one: bucket, two: fixed }, everyRoute: ['one', 'two'] });
RateLimitModule.forRoot({
  valkey: 'valkey://127.0.0.1:6379',
  policies: { one: { ...bucket, burst: 5 } },
  everyRoute: ['one'],
  identify: { user: ({ request }) => request['user']?.id, tenant: ({ user }) => user },
  secret: 'at least sixteen characters',
  onStoreFailure: 'closed',
  deadline: '100ms',
  prefix: 'shop:',
  headers: 'draft-6',
  problem: (problem, { request }, decisions) => ({ ...problem, instance: request['url'], decisions }),
});
RateLimitModule.forRootAsync({ useFactory: () => ({ policies: { one: bucket }, everyRoute: ['one'] }) });

// @ts-expect-error a policy that is not there
RateLimitModule.forRoot({ policies: { one: bucket }, everyRoute: ['oen'] });
// @ts-expect-error a policy that is not there beside one that is
RateLimitModule.forRoot({ policies: { one: bucket }, everyRoute: ['one', 'two'] });
// @ts-expect-error no list
RateLimitModule.forRoot({ policies: { one: bucket }, everyRoute: 'one' });
// @ts-expect-error a policy's options
RateLimitModule.forRoot({ algorithm: 'fixed-window', limit: 5, window: '1m' });
// @ts-expect-error a foreign option in a policy
RateLimitModule.forRoot({ policies: { one: { ...fixed, burst: 5 } } });
// @ts-expect-error a misspelt option
RateLimitModule.forRoot({ policy: { one: bucket } });
// @ts-expect-error a dialect that there is not
RateLimitModule.forRoot({ headers: 'draft-7' });
// @ts-expect-error a dialect that is a switch
RateLimitModule.forRoot({ headers: false });
// @ts-expect-error a failure mode that there is not
RateLimitModule.forRoot({ onStoreFailure: 'fail' });
// @ts-expect-error a bad duration
RateLimitModule.forRoot({ deadline: '50' });
// @ts-expect-error a function where there are several
RateLimitModule.forRoot({ identify: () => 'ada' });
// @ts-expect-error something else to identify
RateLimitModule.forRoot({ identify: { account: () => 'ada' } });
// @ts-expect-error a tenant that is no function
RateLimitModule.forRoot({ identify: { tenant: 'acme' } });
// @ts-expect-error a secret that is no text
RateLimitModule.forRoot({ secret: Buffer.from('at least sixteen characters') });
// @ts-expect-error a port
RateLimitModule.forRoot({ valkey: 6379 });
// @ts-expect-error a factory that gives what cannot work
RateLimitModule.forRootAsync({ useFactory: () => ({ policies: { one: { ...fixed, limit: '5' } } }) });

class Factory implements RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitModuleOptions {
    return { policies: { one: bucket } };
  }
}
class NoFactory {
  options(): RateLimitModuleOptions {
    return {};
  }
}
RateLimitModule.forRootAsync({ useClass: Factory });
RateLimitModule.forRootAsync({ useExisting: Factory });
// @ts-expect-error a class that makes no options
RateLimitModule.forRootAsync({ useClass: NoFactory });

// --- Decorators -----------------------------------------------------------------------------------------------------

@Controller()
@RateLimit('api')
@SkipRateLimit('login')
export class Shop {
  @Get()
  @RateLimit('api', 'login')
  @RateLimit('api', 'login', { cost: 2 })
  @RateLimit('api', { cost: ({ request }) => request['query'].pages })
  @RateLimit(bucket)
  @RateLimit({ ...bucket, name: 'mine', burst: 5, key: key.user(), cost: 2, onStoreFailure: 'closed' })
  @SkipRateLimit()
  @SkipRateLimit('api', 'login')
  right(): string {
    return '';
  }

  // @ts-expect-error no policy
  @RateLimit()
  // @ts-expect-error a policy that is not there
  @RateLimit('appi')
  // @ts-expect-error a policy that is not there beside one that is
  @RateLimit('api', 'lgoin')
  // @ts-expect-error a policy that is not there, with a cost
  @RateLimit('appi', { cost: 2 })
  // @ts-expect-error a policy's option at its use
  @RateLimit('api', { limit: 5 })
  // @ts-expect-error a cost that is a text
  @RateLimit('api', { cost: '2' })
  // @ts-expect-error a cost and no policy
  @RateLimit({ cost: 2 })
  // @ts-expect-error a foreign option
  @RateLimit({ ...fixed, burst: 5 })
  // @ts-expect-error a bad duration
  @RateLimit({ ...fixed, window: '10x' })
  // @ts-expect-error no limit
  @RateLimit({ algorithm: 'fixed-window', window: '1m' })
  // @ts-expect-error an unknown algorithm
  @RateLimit({ algorithm: 'fixed', limit: 5, window: '1m' })
  // @ts-expect-error the module's option
  @RateLimit({ ...fixed, deadline: '1s' })
  // @ts-expect-error a policy that is not there
  @SkipRateLimit('appi')
  // @ts-expect-error options
  @SkipRateLimit({ policy: 'api' })
  // @ts-expect-error a list
  @SkipRateLimit(['api'])
  wrong(): string {
    return '';
  }

  // @ts-expect-error a property is no handler
  @RateLimit('api')
  property = 5;

  // @ts-expect-error a parameter is no handler
  parameter(@RateLimit('api') given: string): string {
    return given;
  }
}

// --- The service ----------------------------------------------------------------------------------------------------

export async function use(): Promise<Decision> {
  await limiter.reset('api', { key: 'a' });
  await limiter.peek('login', { key: 'a' });
  // @ts-expect-error a policy that is not there
  await limiter.consume('appi', { key: 'a' });
  // @ts-expect-error a policy that is not there
  await limiter.peek('appi', { key: 'a' });
  // @ts-expect-error a policy that is not there
  await limiter.reset('appi', { key: 'a' });
  // @ts-expect-error no key
  await limiter.consume('api', {});
  // @ts-expect-error no key
  await limiter.consume('api');
  // @ts-expect-error a key that is a number
  await limiter.consume('api', { key: 5 });
  // @ts-expect-error a cost that is a text
  await limiter.consume('api', { key: 'a', cost: '1' });
  // @ts-expect-error a look has no cost
  await limiter.peek('api', { key: 'a', cost: 1 });
  return limiter.consume('api', { key: 'a', cost: 2 });
}

export function read(decision: Decision): number | undefined {
  // @ts-expect-error only a denial has a time to come back
  if (decision.outcome === 'allowed') return decision.retryAfterMs;
  // @ts-expect-error nothing is known
  if (decision.outcome === 'unavailable') return decision.remaining;
  // @ts-expect-error nothing was counted
  if (decision.outcome === 'unlimited') return decision.remaining;
  // @ts-expect-error nobody was asked
  if (decision.outcome === 'unidentified') return decision.remaining;
  // @ts-expect-error nobody was asked
  if (decision.outcome === 'forbidden') return decision.remaining;
  // @ts-expect-error nothing was counted
  if (decision.outcome === 'shed') return decision.remaining;
  return decision.retryAfterMs;
}

// --- Policies that are made elsewhere ------------------------------------------------------------------------------

export const elsewhere: RateLimitPolicy = { ...fixed, key: key.join(key.ip(), key.header('x-client')) };
export const joined = key.firstOf(key.user(), ({ request }) => request.headers['x-client'] as string);
// @ts-expect-error nothing to join
export const nothing = key.join();
// @ts-expect-error no name
export const nameless = key.header();
// @ts-expect-error no name
export const parameterless = key.param();
export const hashed = key.apiKey({ header: 'authorization' });
// @ts-expect-error an option that there is not
export const misspelt = key.apiKey({ name: 'authorization' });
export const needs: readonly KeyNeed[] | undefined = key.tenant().needs;

// --- The body of a refusal -----------------------------------------------------------------------------------------

export const body: RateLimitModuleOptions['problem'] = ({ detail }) => ({ error: detail });
// @ts-expect-error a text: the adapters would wrap it
export const text: RateLimitModuleOptions['problem'] = () => 'Slow down, please.';
// @ts-expect-error a promise: nobody would wait for it
export const promised: RateLimitModuleOptions['problem'] = () => Promise.resolve({ error: 'too fast' });
