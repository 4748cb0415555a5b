import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { RateLimitRequest } from '../context.js';
import { toException } from '../rate-limit.exception.js';
import { routeId, routeText, targetOf } from '../route-name.js';
import type { ContextAdapter } from './context-adapter.js';
import { whenResponseEnds } from './response-end.js';

/** HTTP requests: `(request, response)`. */
export const http: ContextAdapter = {
  type: 'http',
  classes: 'controllers',
  hasEveryRoute: true,
  isRefusedEarly: true,
  handles: (place) => Reflect.hasMetadata(PATH_METADATA, targetOf(place)),
  routeId,
  textOf: routeText,
  answersOptions: (place) => Reflect.getMetadata(METHOD_METADATA, targetOf(place)) === RequestMethod.OPTIONS,
  callOf: (args) => args[0] as object,
  requestOf: (args) => args[0] as RateLimitRequest,
  setterOf(args, adapter) {
    const response = args[1];
    // What a response tells of times is a list, and others have a say in it.
    return (name, value) =>
      name === 'Server-Timing'
        ? adapter!.appendHeader(response, name, value)
        : adapter!.setHeader(response, name, value);
  },
  toError: ({ body, status, decisions }) => toException(body, status, decisions),
  /** With its response, whoever made it: a guard that comes later, a pipe, a handler or a filter. */
  whenEnded: ([, response], tell) => whenResponseEnds(response, tell),
};
