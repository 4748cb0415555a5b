import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { encodeSubject, storeKey } from './store-key.js';

const LONGEST = 64;

/** Any text that JavaScript can hold: lone surrogates, control characters and all. */
const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit }),
  fc.string({ unit, minLength: 50, maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(...'{}:%#?0a'), maxLength: 80 }),
  fc.stringMatching(/^[A-Za-z0-9._:@|=,+/-]{40,90}$/),
);
const policy = fc.stringMatching(/^[a-z][a-z0-9._-]{0,63}$/);

/** Another text that is as close as can be: one unit is changed, put in or taken out. */
const neighbours = fc
  .tuple(
    text,
    fc.nat(),
    fc.oneof(unit, fc.constantFrom(...'%#?{}:\ud800\udfff\ufffd'), fc.constant('')),
    fc.nat(1),
  )
  .map(([one, at, other, taken]) => {
    const place = one === '' ? 0 : at % one.length;
    return [one, one.slice(0, place) + other + one.slice(place + taken)] as const;
  });

/** CRC16 (XMODEM) of the hash tag, modulo 16384: the Cluster specification. */
function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
    }
  }
  return crc % 16_384;
}

test('the slots of this file are those that the Cluster specification gives', () => {
  expect(slotOf('123456789')).toBe(0x31c3);
  expect(slotOf('foo')).toBe(12_182);
  expect(slotOf('{foo}bar')).toBe(slotOf('foo'));
  expect(slotOf('a{foo}{bar}')).toBe(slotOf('foo'));
  expect(slotOf('foo{}bar')).not.toBe(slotOf('foo'));
});

describe('a subject in a key', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:0:1::/64', '2001:db8:0:1::/64'],
    ['user=42', 'user=42'],
    ['203.0.113.7|anna@example.org', '203.0.113.7|anna@example.org'],
    ['anna+news@example.org', 'anna+news@example.org'],
    ['a'.repeat(LONGEST), 'a'.repeat(LONGEST)],
    ['a b', 'a%0020b'],
    ['a%b', 'a%0025b'],
    ['{a}', '%007ba%007d'],
    ['#', '%0023'],
    ['?', '%003f'],
    ['é', '%00e9'],
    ['😀', '%d83d%de00'],
    ['\ud83d', '%d83d'],
    ['line\nbreak\0', 'line%000abreak%0000'],
  ])('%j is readable where it can be: %s', (subject, encoded) => {
    expect(encodeSubject(subject)).toBe(encoded);
  });

  test('is hashed when it is longer than 64 characters, as it is or encoded', () => {
    expect(encodeSubject('a'.repeat(65))).toMatch(/^#[\w-]{32}$/);
    expect(encodeSubject(' '.repeat(12) + 'a'.repeat(4))).toBe('%0020'.repeat(12) + 'aaaa');
    expect(encodeSubject(' '.repeat(12) + 'a'.repeat(5))).toMatch(/^#[\w-]{32}$/);
  });

  test('is hashed alike in every process and version, so that a deployment forgets nobody', () => {
    // The first 24 bytes of the SHA-256 of UTF-16, low byte first.
    expect(encodeSubject('a'.repeat(65))).toBe('#q-fp_tZ8MJqizF0JpwYtII8plD26ixhN');
  });

  test('is never the same for two subjects: every text of up to four characters that could be mistaken', () => {
    const characters = ['', 'a', 'b', '%', '0', '2', '5', '#', '?', '{', '}', '\ud83d', '\ude00', '\ufffd'];
    const subjects = new Set<string>();
    for (const a of characters)
      for (const b of characters)
        for (const c of characters) for (const d of characters) subjects.add(a + b + c + d);
    subjects.delete('');
    expect(new Set([...subjects].map(encodeSubject)).size).toBe(subjects.size);
  });

  test('is never the same for two subjects: every single UTF-16 unit, lone surrogates too', () => {
    const units = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
    expect(new Set(units.map(encodeSubject)).size).toBe(units.length);
    const long = units.map((one) => `${one}${'x'.repeat(80)}`);
    expect(new Set(long.map(encodeSubject)).size).toBe(units.length);
  });

  test('is never the same for two subjects that are as alike as can be', () => {
    fc.assert(
      fc.property(neighbours, ([one, other]) => {
        expect(encodeSubject(one) === encodeSubject(other)).toBe(one === other);
      }),
      { numRuns: 5_000 },
    );
  });

  test('is never the same as that of a text that looks like its encoding', () => {
    fc.assert(
      fc.property(text, (subject) => {
        const encoded = encodeSubject(subject);
        if (encoded !== subject) expect(encodeSubject(encoded)).not.toBe(encoded);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is never the same for two spellings that Unicode calls equal: bytes are counted, not meanings', () => {
    expect(encodeSubject('\u00e9')).not.toBe(encodeSubject('e\u0301'));
    expect(encodeSubject('Anna')).not.toBe(encodeSubject('anna'));
  });

  test('is at most 64 printable characters without braces and blanks, whatever the client sends', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit, minLength: 5_000, maxLength: 10_240 })), (subject) => {
        expect(encodeSubject(subject)).toMatch(/^[!-z|~]{1,64}$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('an unknown subject', () => {
  test('is one bucket for all', () => {
    expect(encodeSubject(undefined)).toBe('?');
    expect(encodeSubject('')).toBe('?');
    expect(storeKey('rl:', undefined, 'login', 'fw')).toBe('rl:{?}:login:fw');
  });

  test('shares it with no subject that is known', () => {
    fc.assert(
      fc.property(text, (subject) => {
        expect(encodeSubject(subject) === '?').toBe(subject === '');
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a key', () => {
  test('is the prefix, the subject in braces, the policy and the algorithm', () => {
    expect(storeKey('rl:', '203.0.113.7', 'login', 'fw')).toBe('rl:{203.0.113.7}:login:fw');
  });

  test('has exactly one hash tag, which is the subject', () => {
    fc.assert(
      fc.property(text, policy, (subject, name) => {
        const key = storeKey('rl:', subject, name, 'fw');
        expect(key.match(/[{}]/g)).toEqual(['{', '}']);
        expect(key).toMatch(/^rl:\{[^{}]+\}:/);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is in the slot of its subject, for all policies and prefixes of that subject', () => {
    fc.assert(
      fc.property(text, policy, policy, (subject, one, other) => {
        const slot = slotOf(encodeSubject(subject));
        expect(slotOf(storeKey('rl:', subject, one, 'fw'))).toBe(slot);
        expect(slotOf(storeKey('shop:rl:', subject, other, 'fw'))).toBe(slot);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is never the same for two subjects or two policies', () => {
    fc.assert(
      fc.property(neighbours, policy, policy, ([one, other], first, second) => {
        expect(storeKey('rl:', one, first, 'fw') === storeKey('rl:', other, second, 'fw')).toBe(
          one === other && first === second,
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['a}:login', 'a'],
    ['a}:login{', 'a'],
    ['{', '}'],
    ['{}', ''],
    ['a:b', 'a'],
    ['user:1', 'user:10'],
    ['a ', 'a'],
    ['a\n', 'a'],
    [' ', ''],
    ['%0020', ' '],
    ['?', ''],
    ['😀', '\ud83d\ufffd'],
  ])('of %j is not that of %j', (one, other) => {
    expect(storeKey('rl:', one, 'login', 'fw')).not.toBe(storeKey('rl:', other, 'login', 'fw'));
  });

  test('is as short for 10 kB of text as for any, and differs for another 10 kB', () => {
    const long = 'é{}: \n'.repeat(1_700);
    const key = storeKey('rl:', long, 'login', 'fw');
    expect(key.length).toBeLessThanOrEqual('rl:{}:login:fw'.length + LONGEST);
    expect(storeKey('rl:', `${long}x`, 'login', 'fw')).not.toBe(key);
    expect(storeKey('rl:', `x${long}`, 'login', 'fw')).not.toBe(key);
  });
});
