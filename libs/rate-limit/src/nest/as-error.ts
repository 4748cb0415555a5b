import { types } from 'node:util';
import { show } from '../decision/config-error.js';

/** Anything can be thrown, also by another realm. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error || types.isNativeError(thrown)) return thrown;
  return new Error(`${show(thrown)} was thrown`, { cause: thrown });
}
