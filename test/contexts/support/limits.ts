import { randomUUID } from 'node:crypto';
import { afterEach } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { key, type RateLimitContext } from 'nestjs-valkey-rate-limit';
import type { LooseOptions } from '../../support/little.js';

/** 20 seconds before a minute is over. */
export const clock = () => 1_000_000_000_000;

export const two = { algorithm: 'fixed-window', limit: 2, window: '1m' } as const;

/** The contexts that the key of `looked` was given in this test. */
export const seen: RateLimitContext[] = [];

afterEach(() => void seen.splice(0));

const look = (context: RateLimitContext) => {
  seen.push(context);
  return 'all';
};

/** What handlers of every kind are limited by. */
export const policies = {
  two,
  other: { ...two, limit: 5 },
  user: { ...two, key: key.user() },
  closed: { ...two, onStoreFailure: 'closed' },
  looked: { ...two, key: look },
} satisfies LooseOptions['policies'];

/** The same on Valkey, by keys that no other test has. */
export const onValkey = (): LooseOptions => ({
  valkey: process.env['TEST_VALKEY_URL']!,
  prefix: `${randomUUID().slice(0, 8)}:`,
  deadline: '5s',
});

/** A Valkey that is not there. */
export const onNothing: LooseOptions = { valkey: 'valkey://127.0.0.1:1' };

const TYPES = 'https://iana.org/assignments/http-problem-types';

/** What a client is told that has used up a policy of this minute. */
export const denied = (policy: string) => ({
  type: `${TYPES}#quota-exceeded`,
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  status: 429,
  detail: `The limit "${policy}" is exceeded. Try again in 20 seconds.`,
  'violated-policies': [policy],
  code: 'RATE_LIMITED',
  retryAfter: 20,
});

/** What a client is told when a closed policy cannot be decided. */
export const unavailable = (policy: string) => ({
  type: `${TYPES}#temporary-reduced-capacity`,
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
  status: 503,
  detail: `The limit "${policy}" is unavailable. Try again in 1 second.`,
  code: 'TEMPORARILY_UNAVAILABLE',
  retryAfter: 1,
});

/** Keeps all that is logged as a fault, instead of printing it. */
export class Faults implements LoggerService {
  readonly lines: string[] = [];

  /** For `startApp(…, { module: faults.install })`. */
  readonly install = (builder: TestingModuleBuilder): TestingModuleBuilder => builder.setLogger(this);

  log(): void {}

  warn = (message: unknown) => void this.lines.push(String(message));
  error = (message: unknown) => void this.lines.push(String(message));
  fatal = (message: unknown) => void this.lines.push(String(message));
}
