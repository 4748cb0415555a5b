import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { ownValkey } from '../support/valkey.js';
import { startProcess } from '../support/processes.js';
import { startProvider } from './provider.js';

const SAMPLE = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));
const INSTANCES = 3;
const MESSAGES = 30;
/** What the provider allows, and how far apart the sample sends. */
const [MOST, WITHIN_MS, TURN_MS] = [10, 1_000, 120];

type Answer = readonly [phone: string, status: number];

/** Asks for a one-time password. The sample limits each address, so there are several. */
async function ask(url: string, from: number, phone: string): Promise<Answer> {
  const body = JSON.stringify({ phone });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const options = { method: 'POST', headers, localAddress: `127.0.0.${from}`, agent: false } as const;
  const sent = request(`${url}/otp`, options);
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return [phone, response.statusCode!];
}

test('three instances send ten messages a second at the most, hardly fewer, and each of them once', async () => {
  const [provider, { url }] = [await startProvider(), await ownValkey()];
  const env = { VALKEY_URL: url, SMS_PROVIDER_URL: provider.url };
  const instances = await Promise.all(Array.from({ length: INSTANCES }, () => startProcess(SAMPLE, [], env)));
  const askFor = (count: number) =>
    ask(instances[count % INSTANCES]!.url, 1 + (count % 4), `+49301234${100 + count}`);

  // Each sends one before many are sent: what is slow the first time takes longer than there is room for.
  const answers = await Promise.all(instances.map((_, index) => askFor(index)));
  // Faster than they are sent, so that a line forms: the last of them waits for more than three seconds.
  const waiting: Promise<Answer>[] = [];
  for (let count = 0; count < MESSAGES; count += 1) {
    waiting.push(askFor(INSTANCES + count));
    await sleep(10);
  }
  answers.push(...(await Promise.all(waiting)));

  const accepted = answers.flatMap(([phone, status]) => (status === 202 ? [phone] : []));
  expect(provider.arrivals.map(({ phone }) => phone).toSorted()).toEqual(accepted.toSorted());
  // On a machine that is very busy Valkey may answer too late for some, and nobody sends without it.
  expect(answers.every(([, status]) => status === 202 || status === 503)).toBe(true);
  expect(accepted.length).toBeGreaterThan(MESSAGES / 2);

  const times = provider.arrivals.map(({ at }) => at).toSorted((one, other) => one - other);
  const within = times.map((from) => times.filter((at) => at >= from && at < from + WITHIN_MS).length);
  expect(Math.max(...within)).toBeLessThanOrEqual(MOST);
  const many = times.slice(INSTANCES);
  expect((many.at(-1)! - many[0]!) / (many.length - 1)).toBeLessThan(1.2 * TURN_MS);
});
