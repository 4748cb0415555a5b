import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RateLimiter } from 'nestjs-valkey-rate-limit';
import { Sms } from '../../apps/api/src/otp/sms.js';
import { until } from '../../tools/until.js';
import type { RunningApp } from '../support/app.js';
import { json, sampleCases, samples } from '../support/sample.js';
import { startProvider } from '../throttle/provider.js';

const sample = samples();

/** From one message to the next. */
const TURN_MS = 120;

afterEach(() => {
  delete process.env['SMS_PROVIDER_URL'];
});

describe.each(sampleCases)("the sample's one-time passwords on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;
  let now: number;

  beforeEach(async () => {
    now = 1_800_000_000_000;
    app = await sample.start(adapter, store, { clock: () => now });
  });

  const send = (phone: unknown) => {
    now += TURN_MS; // so that each is sent at once
    return app.fetch('/otp', json('POST', { phone }));
  };
  const sendAll = async (...phones: unknown[]) => {
    const seen: number[] = [];
    for (const phone of phones) seen.push((await send(phone)).status);
    return seen;
  };

  test('are sent three times an hour to a phone, however its number is spelt', async () => {
    expect(await sendAll('+49301234567', '+49 30 1234567', '+49 (30) 123-45-67', '+4930/1234567')).toEqual([
      202, 202, 202, 429,
    ]);
    expect(app.app.get(Sms).sent).toBe(3);
    now += 3_600_000;
    expect(await sendAll('+49301234567')).toEqual([202]);
  });

  test('are counted for each phone on its own', async () => {
    expect(await sendAll('+49301234567', '+49301234567', '+49301234567')).not.toContain(429);
    expect(await sendAll('+49301234568', '+49301234567')).toEqual([202, 429]);
  });

  test('are sent to no more than twenty phones from one address', async () => {
    const phones = Array.from({ length: 20 }, (_, index) => `+4930123450${index + 10}`);
    expect(await sendAll(...phones)).not.toContain(429);
    const refused = await send('+49301234599');
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['otp-address'] });
    expect(app.app.get(Sms).sent).toBe(20);
  });

  test.each([
    ['a word', 'phone'],
    ['no country', '030 1234567'],
    ['too few digits', '+49301'],
    ['too many digits', '+4930123456789012'],
    ['a number', 49_301_234_567],
    ['a list', ['+49301234567']],
    ['nothing', undefined],
  ])('are not sent to %s, and who tries is limited by address', async (_, phone) => {
    const response = await send(phone);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      message: 'Send {"phone": "+…"}, with the code of the country.',
    });
    expect(await sendAll(phone, phone, phone, '+49301234567')).toEqual([400, 400, 429, 202]);
    expect(app.app.get(Sms).sent).toBe(1);
  });

  test.each(['null', '[]', '"+49301234567"', '{', ''])('are not sent for the body %j', async (body) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    expect((await app.fetch('/otp', init)).status).toBe(400);
  });

  test('wait for their turn', async () => {
    const began = performance.now();
    const together = ['+49301234567', '+49301234568', '+49301234569'].map(send);
    now -= 2 * TURN_MS; // as if all had come with the first
    expect((await Promise.all(together)).map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(performance.now() - began).toBeGreaterThanOrEqual(2 * TURN_MS - 1);
  });

  test('are refused where too many wait, and then count for nobody', async () => {
    const limiter = app.app.get(RateLimiter);
    await limiter.consume('sms-provider', { key: 'all', cost: 43 });
    const refused = await send('+49301234567');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '6']);
    expect(await refused.json()).toMatchObject({ message: 'No message can be sent at the moment.' });
    await until('it is given back', async () => {
      const address = await limiter.peek('otp-address', { key: '127.0.0.1' });
      return 'remaining' in address && address.remaining === 20;
    });
    now += 43 * TURN_MS;
    expect(await sendAll('+49301234567', '+49301234567', '+49301234567')).toEqual([202, 202, 202]);
  });

  test.each([
    ['takes', 204, 202, 1],
    ['does not take', 500, 502, 0],
  ])('are posted to a provider that %s them', async (_, answer, status, sent) => {
    const provider = await startProvider(answer);
    process.env['SMS_PROVIDER_URL'] = provider.url;
    app = await sample.start(adapter, store, { clock: () => now });
    expect((await send('+49 30 1234567')).status).toBe(status);
    expect(provider.arrivals.map(({ phone }) => phone)).toEqual(['+49301234567']);
    expect(app.app.get(Sms).sent).toBe(sent);
  });

  test('are not sent by a provider that is not there', async () => {
    process.env['SMS_PROVIDER_URL'] = 'http://127.0.0.1:1';
    app = await sample.start(adapter, store, { clock: () => now });
    const response = await send('+49301234567');
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ message: 'The message could not be sent.' });
  });

  test('leave no phone number in Valkey', async () => {
    await send('+49301234567');
    const keys = (await sample.client.keys('*')).join(' ');
    expect(keys).not.toMatch(/1234567/);
    expect(keys).toMatch(store === 'valkey' ? /^(?=.*:otp:sl)(?=.*:otp-address:sl)/ : /^$/);
  });
});
