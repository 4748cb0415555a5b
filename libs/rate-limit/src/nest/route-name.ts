import { createHash } from 'node:crypto';
import { RequestMethod, type Type } from '@nestjs/common';
import {
  HOST_METADATA,
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';
import type { ModulesContainer } from '@nestjs/core';

/** A class, or one of its handlers, as the place where a policy is written. */
export interface Place {
  readonly controller: Type;
  /** The handler and its name; left out: the whole class. */
  readonly handler?: { readonly name: string; readonly method: object };
}

/** A handler. */
export type HandlerPlace = Required<Place>;

/** A place with what clients call it. */
export interface NamedPlace extends Place {
  readonly text: string;
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
export function routeName({ text }: NamedPlace): string {
  const slug = text
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '');
  return slug === '' ? 'root' : slug.slice(0, 48);
}

/**
 * Tells apart places whose names are alike. Made of the route and not of the class, which may share its name with
 * another, and the same in every instance, so that they count together.
 */
export function routeDigest(place: NamedPlace): string {
  const { controller, handler, text } = place;
  const details = [HOST_METADATA, VERSION_METADATA].map((name) => [
    Reflect.getMetadata(name, controller),
    handler && Reflect.getMetadata(name, handler.method),
  ]);
  const identity = JSON.stringify([describePlace(place), text, details.map(String)]);
  return createHash('sha256').update(identity).digest('hex').slice(0, 8);
}

/**
 * What a key calls an HTTP route: `GET:/products/:id`. Made of what clients ask for and not of names in the code, so that it is
 * the same in every instance and after a class was renamed, and another for every other route.
 *
 * @param mounts where RouterModule puts the controller
 */
export function routeId({ controller, handler }: HandlerPlace, mounts: readonly string[]): string {
  const paths = mounts.flatMap((mount) =>
    pathsOf(controller).flatMap((base) => pathsOf(handler.method).map((path) => [mount, base, path])),
  );
  const patterns = paths.map((parts) => `/${parts.join('/').split('/').filter(Boolean).join('/')}`);
  const version: unknown =
    Reflect.getMetadata(VERSION_METADATA, handler.method) ??
    Reflect.getMetadata(VERSION_METADATA, controller);
  const details = [
    ...detail('version', version),
    ...detail('host', Reflect.getMetadata(HOST_METADATA, controller)),
  ];
  return [methodOf(handler.method), ...details, [...new Set(patterns)].toSorted().join(',')].join(':');
}

/** What names of policies are made of at an HTTP handler: `GET products/:id`. */
export function routeText({ controller, handler }: HandlerPlace): string {
  return `${methodOf(handler.method)} ${pathOf(controller)}/${pathOf(handler.method)}`;
}

/** The same for a class. */
export function classText(controller: Type): string {
  const base = pathOf(controller);
  return base === '' || base === '/' ? controller.name : base;
}

/** Where RouterModule puts the modules of a controller; `''` for one that it does not know. */
export function mountsOf(controller: Type, modules: ModulesContainer): string[] {
  const owners = [...modules.values()].filter(({ controllers }) => controllers.has(controller));
  return owners.map(({ metatype }) => {
    const own: unknown = Reflect.getMetadata(MODULE_PATH + modules.applicationId, metatype);
    return String(own ?? Reflect.getMetadata(MODULE_PATH, metatype) ?? '');
  });
}

/** What tells apart routes of one path. Encoded, because a version may be any text. */
export function detail(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  const texts = [value].flat().map((each) => encodeURIComponent(String(each)));
  return [`${name}=${texts.join(',')}`];
}

function methodOf(handler: object): string {
  return RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? 'ALL';
}

function pathOf(target: object): string {
  return pathsOf(target).join(' ');
}

function pathsOf(target: object): string[] {
  return [Reflect.getMetadata(PATH_METADATA, target) ?? ''].flat().map(String);
}
