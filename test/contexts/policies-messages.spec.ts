import { describe, expect, test } from '@jest/globals';
import { Controller, type DynamicModule, Scope, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { key, when } from 'nestjs-valkey-rate-limit';
import { concat, of, throwError } from 'rxjs';
import { until } from '../../tools/until.js';
import { Limit, little, type LooseOptions } from '../support/little.js';
import { clock, denied, Faults } from './support/limits.js';
import { ended, LogIn, startMicroservice, tcp, TcpClient } from './support/microservices.js';
import {
  asTold,
  decide,
  eight,
  fault,
  goOn,
  handling,
  ifFailure,
  last,
  leftIs,
  leftOf,
  outcomes,
  real,
  stores,
} from './support/settling.js';

const policies = {
  told: eight,
  user: { ...eight, limit: 2, key: key.user() },
  banned: { ...eight, deny: when.network('127.0.0.0/8') },
} satisfies LooseOptions['policies'];

const happened: unknown[] = [];

@Controller()
class Patterns {
  @MessagePattern('mine')
  @UseGuards(LogIn)
  @Limit('told', asTold)
  @Limit('user', ifFailure)
  mine(@Payload('fail') fail?: boolean): string {
    return decide(fail !== true);
  }

  @EventPattern('event')
  @Limit('told', asTold)
  event(@Payload('how') how: string): unknown {
    if (how === 'throws') throw fault();
    if (how === 'breaks') return concat(of(1, 2), throwError(fault));
    return how === 'observes' ? of(1, 2) : undefined;
  }

  @EventPattern('banned')
  @Limit('banned', asTold)
  banned(@Payload() what: unknown): void {
    happened.push(what);
  }

  @MessagePattern('last')
  @Limit('told', asTold)
  last() {
    return last('done');
  }
}

@Controller({ scope: Scope.REQUEST })
class Scoped {
  @MessagePattern('scoped')
  @Limit('told', asTold)
  scoped(): string {
    return 'done';
  }
}

const messages = (options: LooseOptions = {}): DynamicModule =>
  little({ limits: { policies, clock, ...options }, controllers: [Patterns, Scoped] });

async function startHybrid(root: DynamicModule) {
  const compiled = await new Faults().install(Test.createTestingModule({ imports: [root] })).compile();
  const app = ended(compiled.createNestApplication<NestFastifyApplication>(new FastifyAdapter()));
  const service = app.connectMicroservice(tcp, { inheritAppConfig: false });
  await app.startAllMicroservices();
  await app.init();
  return { app, client: await TcpClient.of(service) };
}

async function startAlone(options: LooseOptions = {}) {
  const root = { limits: { policies, clock, ...options }, controllers: [Patterns, Scoped] };
  const app = await startMicroservice(root, new Faults());
  return { app, client: await TcpClient.of(app) };
}

describe.each([
  ['a microservice', startAlone],
  ['a hybrid application that does not inherit', (options?: LooseOptions) => startHybrid(messages(options))],
])('%s', (_, start) => {
  test.each(stores)('%s: events are settled when they are handled, once each', async (__, where) => {
    const { app, client } = await start(where());
    const hows = ['returns', 'observes', 'throws', 'breaks'];
    for (const [index, how] of hows.entries()) {
      await client.tell('event', { how });
      await until('it is settled', () => outcomes.length === index + 1);
    }
    await leftIs(app, 'told', 8);
    expect(outcomes.map(({ result }) => result)).toEqual(['success', 'success', 'failure', 'failure']);
  });

  test.each(stores)('%s: both stages are settled, each policy by itself', async (__, where) => {
    const { app, client } = await start({ ...where(), authentication: 'guards' });
    expect(await client.ask('mine', { as: 'ada' })).toBe('in');
    await leftIs(app, 'told', 8);
    expect(await leftOf(app, 'user', 'ada')).toBe(1);
    await client.ask('mine', { as: 'ada', fail: true });
    await until('it is settled', () => outcomes.length === 2);
    await leftIs(app, 'user', 1, 'ada');
  });

  test.each(stores)(
    '%s: a second stage that refuses gives back once what the first took',
    async (__, where) => {
      const { app, client } = await start({ ...where(), authentication: 'guards' });
      real.cost = 1;
      for (let count = 0; count < 2; count += 1) await client.ask('mine', { as: 'ada' });
      await leftIs(app, 'told', 6);
      for (let count = 0; count < 3; count += 1) {
        expect(await client.ask('mine', { as: 'ada' })).toEqual(denied('user'));
      }
      expect(await client.ask('mine', { as: 'eve' })).toBe('in');
      await leftIs(app, 'told', 5);
      await until('all are settled', () => outcomes.length === 3);
    },
  );

  test('a denied event is not handled, and there is nothing to settle', async () => {
    const { app, client } = await start();
    await client.tell('banned', 'a');
    // Messages of a connection are handled in their order.
    expect(await client.ask('scoped')).toBe('done');
    await until('what came behind it is settled', () => outcomes.length === 1);
    expect(happened).toEqual([]);
    expect(await leftOf(app, 'banned')).toBe(8);
  });

  test('a controller that is made for each message is settled', async () => {
    const { app, client } = await start();
    expect(await client.ask('scoped')).toBe('done');
    await until('it is settled', () => outcomes.length === 1);
    await leftIs(app, 'told', 8);
  });

  test.each(stores)(
    '%s: of a thousand at once as many run as may, and all are settled',
    async (__, where) => {
      const { app, client } = await start(where());
      let refused = 0;
      const answers = Array.from({ length: 1_000 }, async () => {
        const answer = await client.ask('last');
        if (answer !== 'done') refused += 1;
        return answer;
      });
      await until('the others are refused', () => refused === 992);
      expect([handling.now, handling.most, outcomes.length]).toEqual([8, 8, 0]);
      goOn();
      const told = await Promise.all(answers);
      expect(told.filter((answer) => answer === 'done')).toHaveLength(8);
      await leftIs(app, 'told', 8);
      expect(outcomes).toHaveLength(8);
      expect(handling.most).toBe(8);
    },
  );
});
