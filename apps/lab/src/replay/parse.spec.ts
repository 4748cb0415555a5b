import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { commonLog } from './common-log.js';
import { jsonLines } from './json-lines.js';
import { parseKey, toKey } from './key-option.js';

const AT = Date.UTC(2026, 2, 1, 12, 0, 0);
const STAMP = '01/Mar/2026:13:00:00 +0100';

const common = (line: string, key = 'ip') => commonLog(parseKey(key)).parse(line);
const json = (line: object | string, key = 'ip', fields = {}) =>
  jsonLines(parseKey(key), fields).parse(typeof line === 'string' ? line : JSON.stringify(line));

describe('a line of a common or combined log', () => {
  it.each([
    ['common', `192.0.2.7 - - [${STAMP}] "GET / HTTP/1.1" 200 2326`, '192.0.2.7'],
    [
      'combined',
      `192.0.2.7 - frank [${STAMP}] "GET /a?b HTTP/1.1" 200 12 "https://example.org/" "Mozilla/5.0 (X11; [x])"`,
      '192.0.2.7',
    ],
    ['IPv6', `2001:db8::7 - - [${STAMP}] "GET / HTTP/2.0" 304 0 "-" "-"`, '2001:db8::7'],
    ['a host name', `host.example.org - - [${STAMP}] "GET / HTTP/1.1" 200 -`, 'host.example.org'],
    [
      "Apache's escaped quotes",
      `192.0.2.7 - - [${STAMP}] "GET /\\"a\\\\ HTTP/1.1" 404 196 "-" "-"`,
      '192.0.2.7',
    ],
    ["nginx's bytes that are no request", `192.0.2.7 - - [${STAMP}] "\\x16\\x03\\x01" 400 157`, '192.0.2.7'],
    ['an empty request', `192.0.2.7 - - [${STAMP}] "" 400 0 "-" "-"`, '192.0.2.7'],
    ['a user with spaces and brackets', `192.0.2.7 - a [b] c [${STAMP}] "GET / HTTP/1.1" 200 1`, '192.0.2.7'],
  ])('is read: %s', (_, line, key) => {
    expect(common(line)).toEqual({ at: AT, key });
  });

  it.each([
    ['text', 'Started the server.'],
    ['nothing but a space', ' '],
    ['no address', ` - - [${STAMP}] "GET / HTTP/1.1" 200 1`],
    ['no time', '192.0.2.7 - - "GET / HTTP/1.1" 200 1'],
    ['a month that is none', '192.0.2.7 - - [01/Mrz/2026:13:00:00 +0100] "GET / HTTP/1.1" 200 1'],
    ['a day that is none', '192.0.2.7 - - [31/Feb/2026:13:00:00 +0100] "GET / HTTP/1.1" 200 1'],
    ['cut off in the time', '192.0.2.7 - - [01/Mar/2026:13:0'],
    ['cut off in the request', `192.0.2.7 - - [${STAMP}] "GET /lo`],
    ['cut off behind an escaped quote', `192.0.2.7 - - [${STAMP}] "GET /lo\\"`],
    ['no request', `192.0.2.7 - - [${STAMP}] 200 1`],
    ['no status', `192.0.2.7 - - [${STAMP}] "GET / HTTP/1.1" ok`],
  ])('is broken: %s', (_, line) => {
    expect(common(line)).toBeUndefined();
  });

  it.each([
    ['user', 'frank'],
    ['path', '/login'],
    ['ip+path', '192.0.2.7 /login'],
    ['path+user', '/login frank'],
  ])('says who it is by %s', (key, expected) => {
    const line = `192.0.2.7 - frank [${STAMP}] "POST /login?next=/ HTTP/1.1" 200 2326`;
    expect(common(line, key)?.key).toBe(expected);
  });

  it('is somebody unknown where there is no user, and no path', () => {
    const line = `192.0.2.7 - - [${STAMP}] "-" 400 0`;
    for (const key of ['user', 'path', 'ip+user'])
      expect(common(line, key)).toEqual({ at: AT, key: undefined });
  });

  it('has no other fields', () => {
    expect(() => commonLog(parseKey('ip+tenant')).begin()).toThrow('has no field "tenant"');
  });
});

describe('a JSON line', () => {
  it.each([
    ['nginx', { time_iso8601: '2026-03-01T13:00:00+01:00', remote_addr: '192.0.2.7' }],
    ['nginx in seconds', { msec: '1772366400.000', remote_addr: '192.0.2.7' }],
    ['pino', { level: 30, time: AT, req: { method: 'GET', url: '/', remoteAddress: '192.0.2.7' } }],
    ['Caddy', { ts: AT / 1_000, request: { remote_ip: '192.0.2.7', uri: '/' } }],
    ['Traefik', { ClientHost: '192.0.2.7', StartUTC: '2026-03-01T12:00:00.000000000Z' }],
    ["a server's stamp", { time_local: STAMP, ip: '192.0.2.7' }],
  ])('is read: %s', (_, line) => {
    expect(json(line)).toEqual({ at: AT, key: '192.0.2.7' });
  });

  it('has the fields that are named', () => {
    const line = { when: AT, 'x.y': 'dotted', a: { b: ['deep', 'er'] }, who: 7, url: '/p?q' };
    const fields = { time: 'when', user: 'who' };
    for (const [key, expected] of [
      ['x.y', 'dotted'],
      ['a.b', 'deep'],
      ['user', '7'],
      ['path+user', '/p 7'],
      ['a.c', undefined],
      ['toString', undefined],
    ] as const) {
      expect(json(line, key, fields)).toEqual({ at: AT, key: expected });
    }
  });

  it.each([
    ['no JSON', '{"time":'],
    ['no object', '[1]'],
    ['null', 'null'],
    ['no time', '{"ip":"192.0.2.7"}'],
    ['no real time', '{"time":"soon","ip":"192.0.2.7"}'],
    ['a time that is an object', '{"time":{},"ip":"192.0.2.7"}'],
  ])('is broken: %s', (_, line) => {
    expect(json(line)).toBeUndefined();
  });
});

it('nothing that stands in a log throws', () => {
  const bits = fc.constantFrom(
    ' [',
    STAMP,
    '] "',
    '"',
    '\\',
    ' - ',
    '192.0.2.7',
    '" 200',
    '{"time":',
    '1',
    '}',
    '{',
  );
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(bits).map((all) => all.join('')),
    fc.json(),
  );
  fc.assert(
    fc.property(line, fc.constantFrom('ip', 'user', 'path', 'ip+path', 'a.b'), (text, key) => {
      for (const request of [common(text, key), json(text, key)]) {
        expect(request === undefined || Number.isSafeInteger(request.at)).toBe(true);
      }
    }),
  );
});

describe('a key', () => {
  it('is never the same for two', () => {
    const [one, other] = [`${'/long'.repeat(100)}1`, `${'/long'.repeat(100)}2`];
    expect(toKey([one])).not.toBe(toKey([other]));
    expect(toKey([one])!.length).toBeLessThanOrEqual(200);
    expect(toKey(['a b', 'c'])).not.toBe(toKey(['a', 'b c']));
  });

  it('has no empty part', () => {
    expect(() => parseKey('ip+')).toThrow('--key ip+');
  });
});
