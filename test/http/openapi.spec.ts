import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, HttpCode, Post, type Type } from '@nestjs/common';
import {
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiResponse,
  ApiTooManyRequestsResponse,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { when } from 'nestjs-valkey-rate-limit';
import { adapters, type AdapterName } from '../support/app.js';
import { Limit, LONG, Skip, startLittle } from '../support/little.js';

const one = { algorithm: 'fixed-window', limit: 1, window: LONG } as const;
const policies = { named: one, closed: { ...one, onStoreFailure: 'closed' } } as const;

interface Documented {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: { required: string[]; example: object } }>;
}

type Responses = Record<string, Documented>;

const start = (adapter: AdapterName, controllers: Type[]) => startLittle(adapter, { policies }, controllers);

async function documentOf(...controllers: Type[]): Promise<OpenAPIObject> {
  const { app } = await start('fastify', controllers);
  return SwaggerModule.createDocument(app, new DocumentBuilder().build());
}

/** The responses of every operation, such as `GET /named`. */
async function responsesOf(...controllers: Type[]): Promise<Record<string, Responses>> {
  const { paths } = await documentOf(...controllers);
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations as Record<string, { responses: Responses }>).map(
        ([method, { responses }]) => [`${method.toUpperCase()} ${path}`, responses],
      ),
    ),
  );
}

class Kettle {
  @ApiProperty()
  litres!: number;
}

describe('a handler', () => {
  @Controller()
  class Handlers {
    @Get('named')
    @Limit('named')
    named() {}

    @Get('several')
    @Limit('named')
    @Limit('closed', { cost: 2 })
    several() {}

    @Post('inline')
    @Limit({ ...one })
    inline() {}

    @Post('closed')
    @Limit({ ...one, onStoreFailure: 'closed' })
    @HttpCode(202)
    closed() {}

    @Limit('named', { cost: 2 })
    @HttpCode(204)
    @Post('first')
    first() {}

    @Get('listed')
    @Limit({ ...one, deny: when.network('192.0.2.0/24') })
    listed() {}

    @Get('shadow')
    @Limit({ ...one, mode: 'shadow', onStoreFailure: 'closed' })
    shadow() {}

    @Get('skipped')
    @Limit('named')
    @Skip()
    skipped() {}

    @Get('free')
    free() {}
  }

  let responses: Record<string, Responses>;

  beforeEach(async () => {
    responses = await responsesOf(Handlers);
  });

  test.each(['GET /named', 'GET /several', 'POST /inline', 'POST /closed', 'POST /first'])(
    'that is limited documents 429: %s',
    (route) => {
      const { description, headers, content } = responses[route]![429]!;
      expect(description).toMatch(/^Too many requests: /);
      expect(Object.keys(headers!)).toEqual(['Retry-After', 'RateLimit', 'RateLimit-Policy']);
      expect(headers!['Retry-After']).toMatchObject({ schema: { type: 'integer', minimum: 1 } });
      expect(headers!['RateLimit']).toMatchObject({ schema: { type: 'string' } });
      expect(Object.keys(content!)).toEqual(['application/problem+json']);
    },
  );

  test.each([
    ['GET /named', ['200', '429']],
    ['GET /several', ['200', '429']],
    ['POST /inline', ['201', '429']],
    ['POST /closed', ['202', '429', '503']],
    ['POST /first', ['204', '429']],
    ['GET /listed', ['200', '403', '429']],
    ['GET /shadow', ['200']],
    ['GET /skipped', ['200']],
    ['GET /free', ['200']],
  ])('documents, beside what swagger says of it anyway, how it is refused: %s', (route, statuses) => {
    expect(Object.keys(responses[route]!)).toEqual(statuses);
    expect(responses[route]![statuses[0]!]).toEqual({ description: '' });
  });

  test('that is closed when its store fails documents 503', () => {
    const { headers, content } = responses['POST /closed']![503]!;
    expect(Object.keys(headers!)).toEqual(['Retry-After']);
    expect(content!['application/problem+json']!.schema.example).toMatchObject({ status: 503 });
  });

  test.each(adapters)('documents what is sent (%s)', async (adapter) => {
    const app = await start(adapter, [Handlers]);
    await app.fetch('/named');
    const refused = await app.fetch('/named');
    const body = (await refused.json()) as object;
    const { headers, content } = responses['GET /named']![refused.status]!;
    const { schema } = content![refused.headers.get('content-type')!.split(';')[0]!]!;
    for (const name of Object.keys(headers!)) expect(refused.headers.has(name)).toBe(true);
    expect(Object.keys(body)).toEqual(schema.required);
    expect({ ...schema.example, detail: '', 'violated-policies': [] }).toEqual({
      ...body,
      detail: '',
      'violated-policies': [],
    });
  });

  test('may be changed in the document, and others are not', () => {
    delete responses['GET /named']![429]!.headers!['Retry-After'];
    expect(responses['GET /several']![429]!.headers).toHaveProperty('Retry-After');
  });
});

describe('a class', () => {
  @Controller('base')
  @Limit('named')
  class Base {
    @Get('plain')
    plain() {}

    @Post('answering')
    @ApiOkResponse({ type: Kettle, description: 'A kettle.' })
    answering() {}

    @Get('own')
    @ApiTooManyRequestsResponse({ description: 'Own.' })
    own() {}
  }

  @Controller('child')
  @Limit({ ...one, name: 'child', onStoreFailure: 'closed' })
  class Child extends Base {
    @Get('added')
    added() {}
  }

  test('that is limited documents 429 at each of its handlers, beside what they say', async () => {
    const responses = await responsesOf(Base);
    expect(Object.keys(responses['GET /base/plain']!)).toEqual(['200', '429']);
    expect(Object.keys(responses['POST /base/answering']!)).toEqual(['200', '429']);
    expect(responses['POST /base/answering']![200]).toMatchObject({ description: 'A kettle.' });
    expect(responses['GET /base/plain']![429]).toHaveProperty('headers.RateLimit');
    expect(responses['GET /base/own']![429]).toEqual({ description: 'Own.' });
  });

  test('says it of what it inherits, and its parent does not say what only it does', async () => {
    const responses = await responsesOf(Base, Child);
    expect(Object.keys(responses['GET /child/plain']!)).toEqual(['200', '429', '503']);
    expect(Object.keys(responses['GET /child/added']!)).toEqual(['200', '429', '503']);
    expect(Object.keys(responses['GET /base/plain']!)).toEqual(['200', '429']);
  });
});

describe("an application's own response", () => {
  const own = { status: 429, description: 'Own.', type: Kettle } as const;
  const documented = {
    description: 'Own.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Kettle' } } },
  };

  @Controller('own')
  class Own {
    @Get('above')
    @ApiResponse({ ...own })
    @Limit('named')
    above() {}

    @Get('below')
    @Limit('named')
    @ApiResponse({ ...own })
    below() {}

    @Get('other')
    @ApiNotFoundResponse({ description: 'Gone.' })
    @Limit('named')
    @ApiOkResponse({ type: Kettle })
    other() {}
  }

  @Controller('class-above')
  @ApiResponse({ ...own })
  @Limit('named')
  class ClassAbove {
    @Get()
    @Limit({ ...one })
    handler() {}
  }

  @Controller('class-below')
  @Limit('named')
  @ApiResponse({ ...own })
  class ClassBelow {
    @Get()
    handler() {}
  }

  test.each(['above', 'below'])('wins at a handler, %s', async (path) => {
    expect((await responsesOf(Own))[`GET /own/${path}`]![429]).toEqual(documented);
  });

  test.each(['above', 'below'])('wins at a class, %s, also where a handler is limited', async (path) => {
    const responses = await responsesOf(ClassAbove, ClassBelow);
    expect(responses[`GET /class-${path}`]![429]).toEqual(documented);
  });

  test('of another status stays beside it', async () => {
    const responses = (await responsesOf(Own))['GET /own/other']!;
    expect(Object.keys(responses)).toEqual(['200', '404', '429']);
    expect(responses[404]).toEqual({ description: 'Gone.' });
    expect(responses[429]).toHaveProperty('headers.RateLimit');
  });
});

test("what swagger's compiler plugin knows of a handler's answer stays there", async () => {
  @Controller('plugin')
  class Plugin {
    @Get('one')
    @Limit('named')
    one() {}

    @Get('all')
    @Limit('named')
    all() {}
  }
  const { app } = await start('fastify', [Plugin]);
  // As its loadPluginMetadata does it, when the application has been made.
  Object.assign(Plugin, {
    _OPENAPI_METADATA_FACTORY: () => ({
      one: { type: Kettle, description: 'A kettle.' },
      all: { type: [Kettle] },
    }),
  });
  const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  const $ref = '#/components/schemas/Kettle';
  expect(paths['/plugin/one']!.get!.responses).toMatchObject({
    200: { description: 'A kettle.', content: { 'application/json': { schema: { $ref } } } },
    429: { headers: {} },
  });
  expect(paths['/plugin/all']!.get!.responses).toMatchObject({
    200: { content: { 'application/json': { schema: { type: 'array', items: { $ref } } } } },
    429: { headers: {} },
  });
});
