import { describe, expect, test } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import {
  Args,
  Field,
  GqlExecutionContext,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { key, RateLimiter, RateLimitGuard } from 'nestjs-valkey-rate-limit';
import { adapters, startApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, little, type LooseOptions, Skip } from '../support/little.js';
import { refusal } from '../support/refusal.js';
import { ask, type GraphQLSetup, graphqlModule, startGraphQL } from './support/graphql.js';
import {
  clock,
  denied,
  Faults,
  onNothing,
  onValkey,
  policies as common,
  seen,
  two,
  unavailable,
} from './support/limits.js';

const policies = {
  ...common,
  login: { ...two, key: key.join(key.ip(), key.body('username')) },
  routed: { ...two, limit: 1, key: key.route() },
} satisfies LooseOptions['policies'];

@Injectable()
class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const { req } = GqlExecutionContext.create(execution).getContext<{
      req: { headers: object; user?: unknown };
    }>();
    req.user = { id: (req.headers as Record<string, unknown>)['x-user'] };
    return true;
  }
}

@ObjectType()
class Item {
  @Field(() => String)
  name!: string;
}

@Resolver(() => Item)
class Shop {
  @Query(() => String, { nullable: true })
  @Limit('two')
  products(): string {
    return 'cups';
  }

  @Query(() => String, { nullable: true })
  @Limit('other')
  more(): string {
    return 'mugs';
  }

  @Query(() => String, { nullable: true })
  @Limit('two', 'other')
  both(): string {
    return 'all';
  }

  @Query(() => String)
  free(): string {
    return 'free';
  }

  @Query(() => String, { nullable: true, name: 'renamed' })
  @Limit('routed')
  code(): string {
    return 'one';
  }

  @Query(() => String, { nullable: true })
  @Limit('routed')
  another(): string {
    return 'two';
  }

  @Mutation(() => String)
  @Limit('login')
  logIn(@Args('username') username: string): string {
    return username;
  }

  @Query(() => String)
  @Limit('looked')
  looked(@Args('of') of: string): string {
    return of;
  }

  @Query(() => String)
  @Limit('closed')
  closed(): string {
    return '';
  }

  @Query(() => String)
  @UseGuards(LogIn)
  @Limit('user')
  mine(): string {
    return '';
  }

  @Query(() => String)
  @UseGuards(RateLimitGuard, RateLimitGuard)
  @Limit('two')
  twice(): string {
    return '';
  }
}

@Resolver(() => Item)
@Limit('two')
class Shelf {
  @Query(() => [Item])
  shelf(): Item[] {
    return [{ name: 'cup' }, { name: 'mug' }, { name: 'pot' }];
  }

  @Query(() => String)
  @Skip()
  skipped(): string {
    return '';
  }

  @ResolveField(() => String)
  label(@Parent() { name }: Item): string {
    return `a ${name}`;
  }
}

@Controller()
class Plain {
  @Get('plain')
  plain(): string {
    return '';
  }
}

describe.each(adapters)('GraphQL on %s', (adapter) => {
  const start = (options: LooseOptions = {}, setup: GraphQLSetup = {}) =>
    startGraphQL(adapter, { policies, clock, ...options }, [Shop, Shelf], { controllers: [Plain], ...setup });

  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])('%s: what is above the limit is an error with all members, and nothing is logged', async (_, where) => {
    const faults = new Faults();
    const app = await start(where(), { app: { module: faults.install } });
    for (const left of [1, 0]) {
      const { status, headers, data, errors } = await ask(app, '{ products }');
      expect([status, data, errors]).toEqual([200, { products: 'cups' }, []]);
      expect(headers.get('ratelimit')).toBe(`"two";r=${left};t=20`);
      expect(headers.get('ratelimit-policy')).toBe('"two";q=2;w=60');
    }
    const { status, headers, data, errors } = await ask(app, '{ products }');
    expect([status, data, errors.length]).toEqual([200, { products: null }, 1]);
    expect(errors[0]).toMatchObject({ message: denied('two').detail, path: ['products'] });
    expect(errors[0]!.extensions).toEqual(denied('two'));
    expect(headers.get('retry-after')).toBe('20');
    expect(headers.get('ratelimit')).toBe('"two";r=0;t=20');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(faults.lines).toEqual([]);
  });

  test('the status is 429 where Nest leaves it alone', async () => {
    const app = await start({}, { graphql: { preserveHttpStatusForExecutionErrors: false } });
    for (const status of [200, 200, 429]) expect((await ask(app, '{ products }')).status).toBe(status);
  });

  test('a field counts under every alias', async () => {
    const app = await start();
    const { data, errors, headers } = await ask(app, '{ a: products b: products c: products d: products }');
    expect(data).toEqual({ a: 'cups', b: 'cups', c: null, d: null });
    expect(errors.map(({ path, extensions }) => [path, extensions['code']])).toEqual([
      [['c'], 'RATE_LIMITED'],
      [['d'], 'RATE_LIMITED'],
    ]);
    expect(headers.get('ratelimit')).toBe('"two";r=0;t=20');
    expect(headers.get('retry-after')).toBe('20');
  });

  test('what several fields of one request come to is told together', async () => {
    const app = await start();
    const { headers } = await ask(app, '{ products more free again: more }');
    expect(headers.get('ratelimit')).toBe('"two";r=1;t=20, "other";r=3;t=20');
    expect(headers.get('ratelimit-policy')).toBe('"two";q=2;w=60, "other";q=5;w=60');
  });

  test('several policies of a field apply all or nothing', async () => {
    const app = await start();
    for (let count = 0; count < 5; count += 1) await ask(app, '{ both }');
    expect((await ask(app, '{ more }')).headers.get('ratelimit')).toBe('"other";r=2;t=20');
  });

  test('keys read the arguments as the body, and the address', async () => {
    const app = await start();
    const logIn = async (name: string) =>
      (await ask(app, `mutation { logIn(username: "${name}") }`)).errors.length;
    expect([await logIn('ada'), await logIn('ada'), await logIn('ada'), await logIn('eve')]).toEqual([
      0, 0, 1, 0,
    ]);
  });

  test('keys see the HTTP request', async () => {
    const app = await start();
    await ask(app, '{ looked(of: "cup") }', { 'x-client': 'me' });
    const [context] = seen;
    expect(context!.request.body).toEqual({ of: 'cup' });
    expect(context!.request.method).toBe('POST');
    expect(context!.route).toBe('query:looked');
    expect(key.ip()(context!)).toBe('127.0.0.1');
    expect(key.header('x-client')(context!)).toBe('me');
  });

  test('a route is called what clients ask for', async () => {
    const app = await start();
    const { data } = await ask(app, '{ renamed another again: renamed }');
    expect(data).toEqual({ renamed: 'one', another: 'two', again: null });
    const routes = app.app.get(RateLimiter).describe();
    expect(routes.map(({ route, handler }) => [route, handler])).toEqual(
      expect.arrayContaining([
        ['query renamed', 'Shop.code'],
        ['mutation logIn', 'Shop.logIn'],
        ['query shelf', 'Shelf.shelf'],
      ]),
    );
  });

  test('users are counted behind the guards that know them', async () => {
    const app = await start({ authentication: 'guards' });
    const mine = async (user: string) => (await ask(app, '{ mine }', { 'x-user': user })).errors.length;
    expect([await mine('ada'), await mine('ada'), await mine('ada'), await mine('eve')]).toEqual([
      0, 0, 1, 0,
    ]);
  });

  test('a guard that is bound again counts once', async () => {
    const app = await start();
    expect((await ask(app, '{ twice }')).headers.get('ratelimit')).toBe('"two";r=1;t=20');
  });

  test.each([[[]], [['guards', 'interceptors', 'filters']]] as const)(
    'a policy of the class is for its operations, and not for fields of objects, with enhancers %j',
    async (enhancers) => {
      const app = await start({}, { graphql: { fieldResolverEnhancers: [...enhancers] } });
      const { data, headers } = await ask(app, '{ shelf { name label } skipped }');
      expect(data).toMatchObject({ shelf: [{ label: 'a cup' }, { label: 'a mug' }, { label: 'a pot' }] });
      expect(headers.get('ratelimit')).toBe('"two";r=1;t=20');
    },
  );

  test('what is not decorated is not limited, and everyRoute is for HTTP only', async () => {
    const app = await start({ everyRoute: ['two'] });
    for (let count = 0; count < 4; count += 1) {
      expect((await ask(app, '{ free skipped }')).errors).toEqual([]);
    }
    const plain = await app.fetch('/plain');
    expect(members(plain, 'RateLimit')).toMatchObject([{ name: 'two', r: 1 }]);
  });

  test('a closed policy that cannot be decided is unavailable', async () => {
    const faults = new Faults();
    const app = await start(onNothing, {
      app: { module: faults.install },
      graphql: { preserveHttpStatusForExecutionErrors: false },
    });
    const { status, headers, errors } = await ask(app, '{ closed }');
    expect([status, headers.get('retry-after'), headers.get('ratelimit')]).toEqual([503, '1', null]);
    expect(errors[0]!.extensions).toEqual(unavailable('closed'));
  });

  test.each([true, false])(
    'what `problem` makes is told as it is, with autoTransformHttpErrors %j',
    async (auto) => {
      const app = await start(
        { problem: ({ title }) => ({ statusCode: 429, error: title, code: 'SLOW_DOWN' }) },
        { graphql: { autoTransformHttpErrors: auto } },
      );
      const { errors } = await ask(app, '{ a: products b: products c: products }');
      expect(errors.map(({ extensions }) => extensions)).toEqual([
        { statusCode: 429, error: denied('two').title, code: 'SLOW_DOWN', retryAfter: 20 },
      ]);
    },
  );

  test('a context of the application may be whatever it likes', async () => {
    const app = await start({}, { graphql: { context: () => ({ user: { id: 'ada' } }) } });
    expect((await ask(app, '{ looked(of: "") }')).headers.get('ratelimit')).toBe('"looked";r=1;t=20');
    expect(key.ip()(seen[0]!)).toBe('127.0.0.1');
    expect(key.user()(seen[0]!)).toBe('ada');
  });
});

describe('@RateLimit is refused at boot where guards do not run:', () => {
  const limits = { policies: { two } };

  test('on a field of an object', async () => {
    @Resolver(() => Item)
    class Labels {
      @Query(() => Item)
      item(): Item {
        return { name: 'cup' };
      }

      @ResolveField(() => String)
      @Limit('two')
      label(): string {
        return '';
      }
    }
    const error = await refusal(little({ limits, imports: [graphqlModule()], providers: [Labels] }));
    expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Labels.label' });
    expect(error.message).toMatch(/GraphQL operations.*resolved once for each object/);
  });

  test('on what a factory makes that is no resolver', async () => {
    class Worker {
      @Limit('two')
      work(): void {}
    }
    const providers = [{ provide: 'WORKER', useFactory: () => new Worker() }];
    const error = await refusal(little({ limits, providers }));
    expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Worker.work' });
  });
});

test('a resolver that a factory makes is limited', async () => {
  @Resolver()
  class Made {
    @Query(() => String, { nullable: true })
    @Limit('two')
    made(): string {
      return '';
    }
  }
  const root = little({
    limits: { policies: { two } },
    imports: [graphqlModule()],
    providers: [{ provide: 'MADE', useFactory: () => new Made() }],
  });
  const app = await startApp(root, 'fastify');
  expect((await ask(app, '{ a: made b: made c: made }')).errors).toHaveLength(1);
});
