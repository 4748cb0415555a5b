import { describe, expect, test } from '@jest/globals';
import {
  Controller,
  Get,
  type MessageEvent,
  Module,
  RequestMethod,
  Scope,
  Sse,
  Version,
  VersioningType,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import type { RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { type Observable, of } from 'rxjs';
import { adapters, startApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, little, LONG, startLittle, statuses } from '../support/little.js';
import { sameNames } from '../support/same-names.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;
const limits: RateLimitModuleOptions = { policies: { two, other: two } };

@Controller('plain')
class Plain {
  @Get()
  @Limit('two')
  list(): string {
    return '';
  }
}

describe.each(adapters)('controllers on %s', (adapter) => {
  test('that are made for each request are limited across requests', async () => {
    @Controller({ path: 'scoped', scope: Scope.REQUEST })
    class Scoped {
      @Get()
      @Limit('two')
      list(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, limits, [Scoped]);
    expect(await statuses(app, '/scoped', 3)).toEqual([200, 200, 429]);
  });

  test('that inherit handlers share named policies and have inline ones of their own', async () => {
    @Limit({ ...two, limit: 3 })
    abstract class Base {
      @Get()
      @Limit('two')
      list(): string {
        return '';
      }

      @Get('inline')
      @Limit(two)
      inline(): string {
        return '';
      }
    }
    @Controller('cats')
    class Cats extends Base {}
    @Controller('dogs')
    class Dogs extends Base {}

    const app = await startLittle(adapter, limits, [Cats, Dogs]);
    expect(await statuses(app, '/cats', 1)).toEqual([200]);
    expect(await statuses(app, '/dogs', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/cats/inline', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/dogs/inline', 3)).toEqual([200, 200, 429]);
    const inClass = (await app.fetch('/cats')).headers.get('ratelimit-policy');
    expect(inClass).toMatch(/^"cats";q=3;\S+, "two";/);
  });

  test('with URI versioning have a limit for each version of a route', async () => {
    @Controller('news')
    class News {
      @Get()
      @Version('1')
      @Limit({ ...two })
      first(): string {
        return '1';
      }

      @Get()
      @Version('2')
      @Limit({ ...two })
      second(): string {
        return '2';
      }

      @Get()
      @Version(['3', '4'])
      @Limit({ ...two })
      third(): string {
        return '3';
      }
    }
    const app = await startLittle(adapter, limits, [News], {
      app: (each) => each.enableVersioning({ type: VersioningType.URI }),
    });
    expect(await statuses(app, '/v1/news', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/v2/news', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/v3/news', 1)).toEqual([200]);
    expect(await statuses(app, '/v4/news', 2)).toEqual([200, 429]);
  });

  test('behind a global prefix are limited as without', async () => {
    const app = await startLittle(adapter, limits, [Plain], {
      app: (each) => each.setGlobalPrefix('api', { exclude: [{ path: 'no', method: RequestMethod.GET }] }),
    });
    expect(await statuses(app, '/api/plain', 3)).toEqual([200, 200, 429]);
  });

  test('with several paths have one limit for a handler', async () => {
    @Controller(['red', 'blue'])
    class Colours {
      @Get(['light', 'dark'])
      @Limit(two)
      list(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, limits, [Colours]);
    expect(await statuses(app, '/red/light', 1)).toEqual([200]);
    expect(await statuses(app, '/blue/dark', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/red/dark', 1)).toEqual([429]);
  });

  test('that differ only by where a module is mounted have limits of their own', async () => {
    @Module({ controllers: [sameNames('users', { ...two })] })
    class Admin {}
    @Module({ controllers: [sameNames('users', { ...two })] })
    class Public {}
    const mounted = RouterModule.register([
      { path: 'admin', module: Admin },
      { path: 'public', module: Public },
    ]);
    const app = await startApp(little({ limits, imports: [Admin, Public, mounted] }), adapter);
    expect(await statuses(app, '/admin/users', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/public/users', 3)).toEqual([200, 200, 429]);
  });

  test('that send events are limited before the first one', async () => {
    @Controller()
    class Events {
      @Sse('events')
      @Limit('two')
      events(): Observable<MessageEvent> {
        return of({ data: 'one' });
      }
    }
    const app = await startLittle(adapter, limits, [Events]);
    const responses = [await app.fetch('/events'), await app.fetch('/events'), await app.fetch('/events')];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(members(responses[0]!, 'RateLimit')).toMatchObject([{ name: 'two', r: 1 }]);
    expect(await responses[0]!.text()).toContain('data: one');
    expect(await responses[2]!.json()).toMatchObject({ 'violated-policies': ['two'] });
  });
});
