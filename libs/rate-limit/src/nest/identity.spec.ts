import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { context } from '../../testing/context.js';
import { type Identify, readIdentity } from './identity.js';

/** Asks for the plan of one request after the other. */
function asking(identify: object) {
  const identity = readIdentity(identify);
  return (tenant: string | undefined, user?: string) =>
    identity.ask('plan', context({}, { identify: { tenant: () => tenant, user: () => user } }));
}

/** A look-up that keeps account of whom it was asked for. */
function lookUp(answer: (tenant: string | undefined) => unknown) {
  const asked: (string | undefined)[] = [];
  const plan = ({ tenant }: { tenant: string | undefined }) => (asked.push(tenant), answer(tenant));
  return { asked, plan };
}

describe('plans that are remembered', () => {
  test('are asked for once a tenant', () => {
    const { asked, plan } = lookUp((tenant) => `of ${tenant}`);
    const ask = asking({ plan, cacheFor: '1m' });
    expect([ask('acme'), ask('umbrella'), ask('acme')]).toEqual(['of acme', 'of umbrella', 'of acme']);
    expect(asked).toEqual(['acme', 'umbrella']);
  });

  test('are those of users where there is no tenant, and never those of nobody', () => {
    let asked = 0;
    const ask = asking({ plan: () => `${(asked += 1)}`, cacheFor: '1m' });
    expect([ask('ada'), ask(undefined, 'ada'), ask('ada', 'grace')]).toEqual(['1', '2', '1']);
    expect([ask(undefined, 'ada'), ask(undefined), ask(undefined)]).toEqual(['2', '3', '4']);
  });

  test.each([undefined, null, 7])('may be none: %p', (none) => {
    const { asked, plan } = lookUp(() => none);
    const ask = asking({ plan, cacheFor: '1m' });
    expect([ask('acme'), ask('acme')]).toEqual([none, none]);
    expect(asked).toHaveLength(1);
  });

  test('are shared while they are looked up', async () => {
    const { asked, plan } = lookUp(async () => await sleep(20, 'pro'));
    const ask = asking({ plan, cacheFor: '1m' });
    expect(await Promise.all([ask('acme'), ask('acme'), ask('acme')])).toEqual(['pro', 'pro', 'pro']);
    expect(await ask('acme')).toBe('pro');
    expect(asked).toHaveLength(1);
  });

  test('are begun once where a query only begins when somebody waits for it', async () => {
    let begun = 0;
    // oxlint-disable-next-line unicorn/no-thenable
    const query = { then: (done: (plan: string) => void) => ((begun += 1), done('pro')) };
    const ask = asking({ plan: () => query, cacheFor: '1m' });
    expect(await Promise.all([ask('acme'), ask('acme')])).toEqual(['pro', 'pro']);
    expect(begun).toBe(1);
  });

  test.each([
    ['throws', () => raise()],
    ['rejects', () => Promise.reject(new Error('the database is down'))],
    ['rejects late', () => sleep(5).then(raise)],
  ])('are forgotten where a look-up %s, for all who shared it', async (_, fails) => {
    let down = true;
    const { asked, plan } = lookUp(() => (down ? fails() : 'pro'));
    const ask = asking({ plan, cacheFor: '1m' });
    const all = await Promise.allSettled([1, 2].map(async () => await ask('acme')));
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    down = false;
    const before = asked.length;
    expect([await ask('acme'), await ask('acme')]).toEqual(['pro', 'pro']);
    expect(asked.length - before).toBe(1);
  });

  test('are forgotten in time, which begins with the look-up', async () => {
    const { asked, plan } = lookUp(async () => await sleep(60, 'pro'));
    const ask = asking({ plan, cacheFor: 50 });
    await ask('acme');
    await ask('acme');
    expect(asked).toHaveLength(2);
  });

  test('are 10,000 at the most, and the oldest goes', () => {
    const { asked, plan } = lookUp(() => 'pro');
    const ask = asking({ plan, cacheFor: '1d' });
    for (let tenant = 0; tenant < 10_000; tenant += 1) ask(`${tenant}`);
    for (let tenant = 0; tenant < 10_000; tenant += 1) ask(`${tenant}`);
    expect(asked).toHaveLength(10_000);
    ask('one more');
    for (let tenant = 1; tenant < 10_000; tenant += 1) ask(`${tenant}`);
    expect(asked).toHaveLength(10_001);
    ask('0');
    expect(asked).toHaveLength(10_002);
  });

  test('are 10,000 at the most while they are looked up, too', async () => {
    const { asked, plan } = lookUp(() => Promise.resolve('pro'));
    const ask = asking({ plan, cacheFor: '1d' });
    await Promise.all(Array.from({ length: 10_100 }, (_, tenant) => ask(`${tenant}`)));
    for (let tenant = 100; tenant < 10_100; tenant += 1) await ask(`${tenant}`);
    expect(asked).toHaveLength(10_100);
    await ask('99');
    expect(asked).toHaveLength(10_101);
  });

  test('are not, unless that is said', () => {
    for (const cacheFor of [undefined, 0, '0s'] as const) {
      const { asked, plan } = lookUp(() => 'pro');
      const ask = asking({ plan, ...(cacheFor !== undefined && { cacheFor }) } as Identify);
      ask('acme');
      ask('acme');
      expect(asked).toHaveLength(2);
    }
  });
});

function raise(): never {
  throw new Error('the database is down');
}
