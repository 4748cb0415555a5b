import { createHash } from 'node:crypto';

/** Longer subjects are hashed, so that no client can grow the store's memory by sending long names. */
const LONGEST = 64;

const PLAIN = /^[A-Za-z0-9._:@|=,+/-]{1,64}$/;

/**
 * A subject as it may stand in a key: readable where it can be, never longer than 64 characters, and never the same
 * for two subjects. What is not plain is percent-encoded; what is too long becomes `#` and its SHA-256; an unknown
 * subject is `?`. No plain or encoded text contains `#`, `?`, `{` or `}`.
 */
export function encodeSubject(subject: string | undefined): string {
  if (subject === undefined || subject === '') return '?';
  if (PLAIN.test(subject)) return subject;
  if (subject.length <= LONGEST) {
    const encoded = percentEncode(subject);
    if (encoded.length <= LONGEST) return encoded;
  }
  return `#${createHash('sha256').update(subject, 'utf16le').digest('base64url').slice(0, 32)}`;
}

/** A subject for people: as it is, unless it is too long, or looks like the hash of one; then as it stands in keys. */
export function shortSubject(subject: string): string {
  return subject.length <= LONGEST && !subject.startsWith('#') ? subject : encodeSubject(subject);
}

// By UTF-16 unit and not by encodeURIComponent, which throws on a lone surrogate.
function percentEncode(text: string): string {
  return text.replace(/[^A-Za-z0-9._:@|=,+/-]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * The key under which a policy's state for a subject is kept. The subject is the Cluster hash tag, so all policies of
 * one subject share a slot and can be decided together. The algorithm's id is part of it, so that a policy that changes
 * its algorithm starts anew instead of reading what another has written.
 *
 * @example
 * storeKey('rl:', '203.0.113.7', 'login', 'sl') // 'rl:{203.0.113.7}:login:sl'
 */
export function storeKey(
  prefix: string,
  subject: string | undefined,
  policy: string,
  algorithm: string,
): string {
  return `${prefix}{${encodeSubject(subject)}}:${policy}:${algorithm}`;
}

/** A key beside another one: of the same subject, and so on the same shard. */
export function sisterKey(key: string, policy: string, algorithm: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:${policy}:${algorithm}`;
}
