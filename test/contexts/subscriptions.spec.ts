import { afterEach, describe, expect, test } from '@jest/globals';
import { Args, Query, Resolver, Subscription } from '@nestjs/graphql';
import { type Client, createClient, type FormattedExecutionResult } from 'graphql-ws';
import { key } from 'nestjs-valkey-rate-limit';
import { WebSocket } from 'ws';
import { adapters, type RunningApp } from '../support/app.js';
import { Limit, type LooseOptions } from '../support/little.js';
import { startGraphQL } from './support/graphql.js';
import { clock, denied, onValkey, policies as common, seen, two } from './support/limits.js';

const policies = {
  ...common,
  room: { ...two, key: key.body('room') },
} satisfies LooseOptions['policies'];

async function* once(text: string): AsyncGenerator<object> {
  yield { counted: text, inRoom: text, looked: text };
}

@Resolver()
class Events {
  @Query(() => String, { nullable: true })
  @Limit('two')
  asked(): string {
    return 'asked';
  }

  @Subscription(() => String)
  @Limit('two')
  counted(): AsyncGenerator<object> {
    return once('event');
  }

  @Subscription(() => String, { filter: () => true })
  @Limit('room')
  inRoom(@Args('room') room: string): AsyncGenerator<object> {
    return once(room);
  }

  @Subscription(() => String)
  @Limit('looked')
  looked(): AsyncGenerator<object> {
    return once('');
  }
}

const open = new Set<Client>();
afterEach(async () => {
  await Promise.all([...open].map((client) => client.dispose()));
  open.clear();
});

/** A client that says who it is in a header field of its upgrade request, and in what it sends first. */
function connect(app: RunningApp): Client {
  class Named extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { headers: { 'x-client': 'me' } });
    }
  }
  const url = app.url.replace('http', 'ws');
  const connectionParams = { token: 'secret' };
  const client = createClient({ url: `${url}/graphql`, webSocketImpl: Named, connectionParams });
  open.add(client);
  return client;
}

type Result = FormattedExecutionResult<Record<string, unknown>, unknown>;

/** All that comes of an operation until it is over. */
async function results(client: Client, query: string): Promise<Result[]> {
  const all: Result[] = [];
  for await (const result of client.iterate({ query })) all.push(result);
  return all;
}

/** The extensions of the errors with which an operation was refused. */
async function refusals(client: Client, query: string): Promise<unknown[]> {
  try {
    return (await results(client, query)).flatMap(({ errors = [] }) =>
      errors.map((error) => error.extensions),
    );
  } catch (errors) {
    return (errors as { extensions: unknown }[]).map(({ extensions }) => extensions);
  }
}

describe.each(adapters)('operations over graphql-ws on %s', (adapter) => {
  const start = (options: LooseOptions = {}) =>
    startGraphQL(adapter, { policies, clock, ...options }, [Events], {
      graphql: { subscriptions: { 'graphql-ws': true } },
    });

  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])('%s: a subscription counts once, and is refused with all members', async (_, where) => {
    const client = connect(await start(where()));
    for (let count = 0; count < 2; count += 1) {
      expect(await results(client, 'subscription { counted }')).toEqual([{ data: { counted: 'event' } }]);
    }
    expect(await refusals(client, 'subscription { counted }')).toEqual([denied('two')]);
  });

  test('queries count there as well, and are told nothing of HTTP', async () => {
    const client = connect(await start());
    expect(await refusals(client, '{ a: asked b: asked c: asked }')).toEqual([denied('two')]);
  });

  test('keys read the arguments as the body', async () => {
    const client = connect(await start());
    const enter = (room: string) => refusals(client, `subscription { inRoom(room: "${room}") }`);
    expect([await enter('a'), await enter('a'), await enter('a'), await enter('b')]).toEqual([
      [],
      [],
      [denied('room')],
      [],
    ]);
  });

  test('keys see the request that opened the connection', async () => {
    await results(connect(await start()), 'subscription { looked }');
    const [context] = seen;
    expect(context!.route).toBe('subscription:looked');
    expect(key.ip()(context!)).toBe('127.0.0.1');
    expect(key.header('x-client')(context!)).toBe('me');
    expect(context!.request['connectionParams']).toEqual({ token: 'secret' });
  });
});

test('the user is whom the connection was opened for', async () => {
  const app = await startGraphQL('fastify', { policies, clock }, [Events], {
    graphql: {
      subscriptions: {
        'graphql-ws': {
          onConnect: ({ extra }) => void Object.assign(extra as object, { user: { id: 'ada' } }),
        },
      },
    },
  });
  await results(connect(app), 'subscription { looked }');
  expect(key.user()(seen[0]!)).toBe('ada');
});
