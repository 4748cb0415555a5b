import { type Type, VersioningType } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  FILTER_CATCH_EXCEPTIONS,
  HOST_METADATA,
} from '@nestjs/common/constants.js';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { RateLimitException } from './rate-limit.exception.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { targetOf } from './route-name.js';
import type { Route } from './route-table.js';

export interface Surroundings {
  readonly adapter: 'express' | 'fastify';
  readonly config: ApplicationConfig;
  readonly modules: ModulesContainer;
  /** The module that asks. */
  readonly self: object;
}

/**
 * The routes whose refusal would be the same, byte for byte, if it came before Nest: all that is asked is in the head of
 * a request, no other guard comes first, and no filter makes something else of it.
 */
export function earlyRoutes(routes: readonly Route[], surroundings: Surroundings): Route[] {
  const { adapter, config } = surroundings;
  if (!(config.getGlobalGuards()[0] instanceof RateLimitGuard)) return [];
  if (adapter === 'express' && !hasPlainPaths(surroundings)) return [];
  if (config.getGlobalRequestFilters().length > 0 || config.getGlobalFilters().some(catchesRefusals))
    return [];
  return routes.filter(({ early, place }) => {
    const targets = [targetOf(place), targetOf({ controller: place.controller })];
    return early && !targets.flatMap(filtersOf).some(catchesRefusals);
  });
}

/**
 * In Express nothing tells a route but the path: hosts and other versions must not choose between handlers. And the
 * middleware of modules comes later, where it may answer, or set fields.
 */
function hasPlainPaths({ config, modules, self }: Surroundings): boolean {
  const versioning = config.getVersioning();
  if (versioning !== undefined && versioning.type !== VersioningType.URI) return false;
  return [...modules.values()].every(({ instance, controllers }) => {
    const isPlain = [...controllers.values()].every(({ metatype }) => {
      return metatype === null || Reflect.getMetadata(HOST_METADATA, metatype) === undefined;
    });
    return isPlain && (instance === self || !('configure' in instance));
  });
}

function filtersOf(target: object): unknown[] {
  return (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, target) as unknown[] | undefined) ?? [];
}

/** A filter is bound as a class or as an object of one; one that names no exceptions catches all. */
function catchesRefusals(filter: unknown): boolean {
  const filterClass = typeof filter === 'function' ? filter : (filter as object).constructor;
  const caught = Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filterClass) as Type[] | undefined;
  if (caught === undefined || caught.length === 0) return true;
  return caught.some((type) => type === RateLimitException || RateLimitException.prototype instanceof type);
}
