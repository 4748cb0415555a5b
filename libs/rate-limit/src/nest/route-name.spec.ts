import { describe, expect, test } from '@jest/globals';
import {
  All,
  Controller,
  type ControllerOptions,
  Get,
  Post,
  type Type,
  Version,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { type HandlerPlace, routeId } from './route-name.js';

function place(controller: Type, name = 'list'): HandlerPlace {
  const methods = controller.prototype as Record<string, object>;
  return { controller, handler: { name, method: methods[name]! } };
}

/** A handler of a class that is called the same wherever it is made. */
function same(options: ControllerOptions, ...decorators: MethodDecorator[]): HandlerPlace {
  @Controller(options)
  class Same {
    list(): void {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Same.prototype, 'list')!;
  for (const decorate of decorators) decorate(Same.prototype, 'list', descriptor);
  return place(Same);
}

const idOf = (options: ControllerOptions, ...decorators: MethodDecorator[]) =>
  routeId(same(options, ...decorators), ['']);

describe('what keys call a route', () => {
  test.each([
    [{}, Get(), 'GET:/'],
    [{ path: '/' }, Get('/'), 'GET:/'],
    [{ path: 'products' }, Get(), 'GET:/products'],
    [{ path: '/products/' }, Get('/:id/'), 'GET:/products/:id'],
    [{ path: 'products' }, Post(':id/photos'), 'POST:/products/:id/photos'],
    [{ path: 'products' }, All('*rest'), 'ALL:/products/*rest'],
    [{ path: ['b', 'a'] }, Get(['d', 'c']), 'GET:/a/c,/a/d,/b/c,/b/d'],
  ])('%j: method and path, however the path is written', (options, decorator, id) => {
    expect(idOf(options, decorator)).toBe(id);
  });

  test('begins with where RouterModule puts it', () => {
    const users = same({ path: 'users' }, Get());
    expect(routeId(users, ['/admin'])).toBe('GET:/admin/users');
    expect(routeId(users, ['/public', '/admin', '/public'])).toBe('GET:/admin/users,/public/users');
  });

  test('has the version and the host, where there are several of one path', () => {
    expect(idOf({ path: 'news', version: '1' }, Get())).toBe('GET:version=1:/news');
    expect(idOf({ path: 'news', version: '1' }, Get(), Version('2'))).toBe('GET:version=2:/news');
    expect(idOf({ path: 'news', version: ['1', '2'] }, Get())).toBe('GET:version=1,2:/news');
    expect(idOf({ path: 'news', host: ':name.example.org' }, Get())).toBe(
      'GET:host=%3Aname.example.org:/news',
    );
  });

  test('is another for every other route of one class and method name', () => {
    const routes = [
      idOf({ path: 'a' }, Get()),
      idOf({ path: 'a' }, Post()),
      idOf({ path: 'a' }, All()),
      idOf({ path: 'b' }, Get()),
      idOf({ path: 'a' }, Get('b')),
      idOf({ path: 'a', version: '1' }, Get()),
      idOf({ path: 'a', version: '2' }, Get()),
      idOf({ path: 'a', version: ['1', '2'] }, Get()),
      idOf({ path: 'a', version: '1,2' }, Get()),
      idOf({ path: 'a', version: '1:host=b' }, Get()),
      idOf({ path: 'a', version: '1', host: 'b' }, Get()),
      idOf({ path: 'a', version: VERSION_NEUTRAL }, Get()),
      idOf({ path: 'a', host: 'one' }, Get()),
      idOf({ path: 'a', host: ['one', 'two'] }, Get()),
      idOf({ path: 'a', host: /one/ as unknown as string }, Get()),
    ];
    expect(new Set(routes).size).toBe(routes.length);
  });

  test('is the same after a class or a method was renamed', () => {
    @Controller('users')
    class People {
      @Get()
      all(): void {}
    }
    expect(routeId(place(People, 'all'), [''])).toBe(idOf({ path: 'users' }, Get()));
  });
});
