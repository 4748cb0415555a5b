import { createHash } from 'node:crypto';
import { RequestMethod, type Type } from '@nestjs/common';
import { HOST_METADATA, METHOD_METADATA, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js';

/** A class, or one of its handlers, as the place where a policy is written. */
export interface Place {
  readonly controller: Type;
  /** The handler and its name; left out: the whole class. */
  readonly handler?: { readonly name: string; readonly method: object };
}

/** Where decorators leave what they say of a place. */
export function targetOf({ controller, handler }: Place): object {
  return handler?.method ?? controller;
}

/** How messages call a place: `ProductsController.list`. */
export function describePlace({ controller, handler }: Place): string {
  return handler === undefined ? controller.name : `${controller.name}.${handler.name}`;
}

/** A name for a policy that has none: made of the route, such as `get-products`. */
export function routeName(place: Place): string {
  const slug = routeText(place)
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '');
  return slug === '' ? 'root' : slug.slice(0, 48);
}

/**
 * Tells apart places whose names are alike. Made of the route and not of the class, which may share its name with
 * another, and the same in every instance, so that they count together.
 */
export function routeDigest(place: Place): string {
  const { controller, handler } = place;
  const details = [HOST_METADATA, VERSION_METADATA].map((name) => [
    Reflect.getMetadata(name, controller),
    handler && Reflect.getMetadata(name, handler.method),
  ]);
  const identity = JSON.stringify([describePlace(place), routeText(place), details.map(String)]);
  return createHash('sha256').update(identity).digest('hex').slice(0, 8);
}

function routeText({ controller, handler }: Place): string {
  const base = pathOf(controller);
  if (handler === undefined) return base === '' || base === '/' ? controller.name : base;
  const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler.method) as number] ?? 'ALL';
  return `${method} ${base}/${pathOf(handler.method)}`;
}

function pathOf(target: object): string {
  const path: unknown = Reflect.getMetadata(PATH_METADATA, target) ?? '';
  return Array.isArray(path) ? path.join(' ') : String(path);
}
