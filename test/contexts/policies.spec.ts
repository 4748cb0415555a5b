import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller } from '@nestjs/common';
import { Args, Mutation, Query, Resolver } from '@nestjs/graphql';
import { GrpcMethod, MessagePattern, Payload } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { Outcome, RateLimitContext } from 'nestjs-valkey-rate-limit';
import { concat, of, throwError } from 'rxjs';
import { until } from '../../tools/until.js';
import { Limit, type LooseOptions } from '../support/little.js';
import { type Handlers, kinds, type Started } from './support/kinds.js';
import { clock } from './support/limits.js';
import { eight, fault, ifFailure, ifSuccess, stores } from './support/settling.js';

/** What the function of a policy was told, and what it says. */
let outcomes: (Outcome & { readonly how: unknown; readonly route: string })[] = [];
let real = 0;
beforeEach(() => {
  outcomes = [];
  real = 0;
});

const watch = async (outcome: Outcome, { request, route }: RateLimitContext) => {
  const { how, what } = request.body as { how?: string; what?: string };
  outcomes.push({ ...outcome, how: how ?? what, route });
  return real;
};

const text = (said: string) => ({ text: said });

/** What a handler may do. An answer of gRPC that is no stream has one value. */
function act(how: string, shape: (text: string) => unknown = (said) => said): unknown {
  const done = shape('done');
  const before = shape === text ? [] : [shape('first'), shape('second')];
  switch (how) {
    case 'throws':
      throw fault();
    case 'promises':
      return Promise.resolve(done);
    case 'rejects':
      return Promise.reject(fault());
    case 'observes':
      return of(...before, done);
    case 'breaks':
      return concat(of(...before), throwError(fault));
    default:
      return done;
  }
}

const succeeding = ['answers', 'promises', 'observes'];
const failing = ['throws', 'rejects', 'breaks'];

const asTold = { settle: watch, cost: 3 };

@Resolver()
class Fields {
  @Query(() => String)
  @Limit('success', ifSuccess)
  success(@Args('how') how: string) {
    return act(how);
  }

  @Mutation(() => String)
  @Limit('failure', ifFailure)
  failure(@Args('how') how: string) {
    return act(how);
  }

  @Query(() => String)
  @Limit('told', asTold)
  told(@Args('how') how: string) {
    return act(how);
  }
}

@Resolver()
@Limit('whole', { settle: watch })
class WholeResolver {
  @Query(() => String)
  @Limit('success', ifSuccess)
  whole(@Args('how') how: string) {
    return act(how);
  }
}

const sent = (said: string) => ({ event: 'answer', data: said });

@WebSocketGateway()
class Messages {
  @SubscribeMessage('success')
  @Limit('success', ifSuccess)
  success(@MessageBody('how') how: string) {
    return act(how, sent);
  }

  @SubscribeMessage('failure')
  @Limit('failure', ifFailure)
  failure(@MessageBody('how') how: string) {
    return act(how, sent);
  }

  @SubscribeMessage('told')
  @Limit('told', asTold)
  told(@MessageBody('how') how: string) {
    return act(how, sent);
  }
}

@WebSocketGateway()
@Limit('whole', { settle: watch })
class WholeGateway {
  @SubscribeMessage('whole')
  @Limit('success', ifSuccess)
  whole(@MessageBody('how') how: string) {
    return act(how, sent);
  }
}

@Controller()
class Patterns {
  @MessagePattern('success')
  @Limit('success', ifSuccess)
  success(@Payload('how') how: string) {
    return act(how);
  }

  @MessagePattern('failure')
  @Limit('failure', ifFailure)
  failure(@Payload('how') how: string) {
    return act(how);
  }

  @MessagePattern('told')
  @Limit('told', asTold)
  told(@Payload('how') how: string) {
    return act(how);
  }
}

@Controller()
@Limit('whole', { settle: watch })
class WholeController {
  @MessagePattern('whole')
  @Limit('success', ifSuccess)
  whole(@Payload('how') how: string) {
    return act(how);
  }
}

@Controller()
class Calls {
  @GrpcMethod('Orders', 'Order')
  @Limit('success', ifSuccess)
  success({ what }: { what: string }) {
    return act(what, text);
  }

  @GrpcMethod('Orders', 'Closed')
  @Limit('failure', ifFailure)
  failure({ what }: { what: string }) {
    return act(what, text);
  }

  @GrpcMethod('Orders', 'Huge')
  @Limit('told', asTold)
  told({ what }: { what: string }) {
    return act(what, text);
  }
}

@Controller()
@Limit('whole', { settle: watch })
class WholeCalls {
  @GrpcMethod('Orders', 'Free')
  @Limit('success', ifSuccess)
  whole({ what }: { what: string }) {
    return act(what, text);
  }
}

const handlers: Handlers = {
  resolvers: [Fields, WholeResolver],
  gateways: [Messages, WholeGateway],
  messages: [Patterns, WholeController],
  calls: [Calls, WholeCalls],
};

const policies = { success: eight, failure: eight, told: eight, whole: eight };

describe.each(kinds)('%s', (_, start) => {
  const boot = (where: () => LooseOptions) => start({ policies, clock, ...where() }, handlers);

  const leftIs = (app: Started, policy: string, wanted: number) =>
    until(`${wanted} to be left of ${policy}`, async () => (await app.left(policy)) === wanted);

  test.each(stores)('%s: what succeeds takes nothing in the end, and what fails does', async (__, where) => {
    const app = await boot(where);
    for (const how of succeeding) expect(await app.call('success', how)).toBeUndefined();
    await leftIs(app, 'success', 8);
    for (const how of failing) await app.call('success', how);
    await app.call('success', 'answers');
    await leftIs(app, 'success', 5);
  });

  test.each(stores)('%s: what fails takes nothing in the end, and what succeeds does', async (__, where) => {
    const app = await boot(where);
    for (const how of failing) await app.call('failure', how);
    await leftIs(app, 'failure', 8);
    for (const how of succeeding) expect(await app.call('failure', how)).toBeUndefined();
    await app.call('failure', 'throws');
    await leftIs(app, 'failure', 5);
  });

  test.each(stores)('%s: a function is told how it ended, and says the real cost', async (__, where) => {
    const app = await boot(where);
    for (const how of [...succeeding, ...failing]) {
      await app.call('told', how);
      await leftIs(app, 'told', 8);
    }
    expect(outcomes.map(({ how, result }) => [how, result])).toEqual([
      ...succeeding.map((how) => [how, 'success']),
      ...failing.map((how) => [how, 'failure']),
    ]);
    for (const { result, error } of outcomes) {
      if (result === 'success') expect(error).toBeUndefined();
      else expect(error).toMatchObject({ message: 'as the test wants' });
    }
    expect(outcomes[0]!.route).toMatch(/^(query:told|message:told|pattern:told|pattern:Orders\/Huge)$/);
    real = 1;
    await app.call('told', 'answers');
    await leftIs(app, 'told', 7);
    real = 1_000;
    await app.call('told', 'answers');
    await leftIs(app, 'told', 0);
  });

  test('a refused call has nothing to settle', async () => {
    const app = await boot(() => ({}));
    real = 8;
    await app.call('told', 'answers');
    await leftIs(app, 'told', 0);
    real = 0;
    expect(await app.call('told', 'answers')).toBeDefined();
    expect(outcomes).toHaveLength(1);
    expect(await app.left('told')).toBe(0);
  });

  test('policies of a class and of a handler are settled once each', async () => {
    const app = await boot(() => ({}));
    real = 1;
    await app.call('whole', 'observes');
    await leftIs(app, 'success', 8);
    real = 2;
    await app.call('whole', 'breaks');
    await leftIs(app, 'whole', 5);
    expect(await app.left('success')).toBe(7);
    expect(outcomes.map(({ result }) => result)).toEqual(['success', 'failure']);
  });
});
