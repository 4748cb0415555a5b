import { describe, expect, test } from '@jest/globals';
import { type CanActivate, Controller, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { Args, Query, Resolver } from '@nestjs/graphql';
import { GrpcMethod, MessagePattern, Payload } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { key } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { Limit, type LooseOptions } from '../support/little.js';
import { type Handlers, kinds } from './support/kinds.js';
import { clock } from './support/limits.js';
import { asTold, decide, eight, ifFailure, outcomes, real, stores } from './support/settling.js';

/** Leaves a user where guards of each context do. */
@Injectable()
class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const [first, second, third] = execution.getArgs<{ user?: unknown; req?: { user?: unknown } }[]>();
    const isGateway = execution.getType() === 'ws';
    const holder = isGateway
      ? first
      : (third?.req ?? (third !== undefined && 'getPeer' in third ? third : second));
    holder!.user = { id: 'ada' };
    return true;
  }
}

@Resolver()
class Fields {
  @Query(() => String)
  @UseGuards(LogIn)
  @Limit('told', asTold)
  @Limit('user', ifFailure)
  success(@Args('how') how: string) {
    return decide(how !== 'fails');
  }
}

@WebSocketGateway()
class Messages {
  @SubscribeMessage('success')
  @UseGuards(LogIn)
  @Limit('told', asTold)
  @Limit('user', ifFailure)
  success(@MessageBody('how') how: string) {
    return { event: 'answer', data: decide(how !== 'fails') };
  }
}

@Controller()
class Patterns {
  @MessagePattern('success')
  @UseGuards(LogIn)
  @Limit('told', asTold)
  @Limit('user', ifFailure)
  success(@Payload('how') how: string) {
    return decide(how !== 'fails');
  }
}

@Controller()
class Calls {
  @GrpcMethod('Orders', 'Order')
  @UseGuards(LogIn)
  @Limit('told', asTold)
  @Limit('user', ifFailure)
  success({ what }: { what: string }) {
    return { text: decide(what !== 'fails') };
  }
}

const handlers: Handlers = {
  resolvers: [Fields],
  gateways: [Messages],
  messages: [Patterns],
  calls: [Calls],
};

const policies = {
  told: eight,
  user: { ...eight, limit: 2, key: key.user() },
} satisfies LooseOptions['policies'];

describe.each(kinds)('%s, with users whom guards know', (_, start) => {
  test.each(stores)('%s: each stage is settled, and one that refuses gives all back', async (__, where) => {
    const { call, left } = await start({ policies, clock, authentication: 'guards', ...where() }, handlers);
    const are = (told: number, user: number) =>
      until(`${told} and ${user} to be left`, async () => {
        return (await left('told')) === told && (await left('user', 'ada')) === user;
      });
    real.cost = 1;
    expect(await call('success', 'fails')).toBeDefined();
    await are(7, 2);
    for (let count = 0; count < 2; count += 1) expect(await call('success')).toBeUndefined();
    await are(5, 0);
    for (let count = 0; count < 3; count += 1) expect(await call('success')).toBeDefined();
    await are(5, 0);
    expect(outcomes.map(({ result }) => result)).toEqual(['failure', 'success', 'success']);
  });
});
