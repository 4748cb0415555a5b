import { createHmac } from 'node:crypto';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { OptionReader } from '../decision/option-reader.js';

/** 132 bits: more than anybody can find a second text for, in a length that leaves room beside it in a key. */
const LENGTH = 22;
const SHORTEST_SECRET = 16;
/** What the key that is made of the secret is for. */
const PURPOSE = 'nestjs-valkey-rate-limit: secrets in keys';

const MEND =
  'Set the option secret from the configuration of the application, the same in every instance: "openssl rand -base64 32" ' +
  'prints a good one.';

/** Makes a hash that nobody can try texts against who does not know the secret: HMAC-SHA256. */
export function keyedHash(secret: string): (text: string) => string {
  // A key of its own, so that an application that signs other things with this secret signs nothing of a client's choice.
  const derived = createHmac('sha256', secret).update(PURPOSE).digest();
  return (text) =>
    // As UTF-16, because UTF-8 has one and the same replacement for every lone surrogate.
    createHmac('sha256', derived).update(text, 'utf16le').digest('base64url').slice(0, LENGTH);
}

/** The hash under the option `secret`, where there is one. */
export function readSecret(options: OptionReader): ((text: string) => string) | undefined {
  const secret = options.value('secret');
  if (secret === undefined) return undefined;
  if (typeof secret === 'string' && secret.length >= SHORTEST_SECRET) return keyedHash(secret);
  // A secret that is too short is one all the same, and messages end up in logs.
  const got = typeof secret === 'string' ? `one of ${secret.length}` : show(secret);
  throw new RateLimitConfigError(
    'INVALID_SECRET',
    options.where,
    `secret must be a text of at least ${SHORTEST_SECRET} characters, not ${got}. ${MEND}`,
  );
}

/** For whoever wants a hash of a module that has nothing to make it with. */
export function noSecret(where: string, problem: string): RateLimitConfigError {
  return new RateLimitConfigError(
    'NO_SECRET',
    where,
    `${problem}, and RateLimitModule has no secret to do it with. ${MEND}`,
  );
}
