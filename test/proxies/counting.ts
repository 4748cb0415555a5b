import { Controller, Get } from '@nestjs/common';
import { key, type RateLimitContext } from 'nestjs-valkey-rate-limit';
import type { AdapterName, RunningApp, StartOptions } from '../support/app.js';
import { Limit, LONG, startLittle } from '../support/little.js';
import { statusFor } from '../support/proxies.js';

/** Two clients, and a proxy that clients reach in front of one that reaches the application. */
export const [ADA, EVE, OUTER, INNER] = ['127.0.0.11', '127.0.0.66', '127.0.1.1', '127.0.1.2'] as const;

const address = key.ip();
let last: string | undefined;

/** Remembers who was counted. */
function remembered(context: RateLimitContext): string | undefined {
  last = address(context);
  return last;
}

@Controller()
class Twice {
  @Get()
  @Limit({ algorithm: 'fixed-window', limit: 2, window: LONG, key: remembered })
  get(): string {
    return '';
  }
}

/** An application that lets every address in twice. */
export function startCounting(adapter: AdapterName, options: StartOptions): Promise<RunningApp> {
  return startLittle(adapter, {}, [Twice], options);
}

/** Who is counted when a client at an address asks. */
export async function countedFor(
  from: string,
  url: string,
  headers?: Record<string, string | string[]>,
): Promise<string | undefined> {
  last = undefined;
  const status = await statusFor(from, url, headers);
  if (status !== 200 && status !== 429) throw new Error(`It answered ${status}.`);
  return last;
}

/** The statuses of so many requests, sent one after the other. */
export async function statusesFor(
  from: string,
  url: string,
  times: number,
  headers?: Record<string, string | string[]>,
): Promise<number[]> {
  const seen: number[] = [];
  for (let count = 0; count < times; count += 1) seen.push(await statusFor(from, url, headers));
  return seen;
}
