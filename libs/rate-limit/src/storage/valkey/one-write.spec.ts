import { describe, expect, test } from '@jest/globals';
import type { ValkeyClient } from './connection.js';
import { inOneWrite } from './one-write.js';

const unused = () => Promise.reject(new Error('not asked'));
const client = (more: object) => ({ evalsha: unused, eval: unused, del: unused, ...more }) as ValkeyClient;

describe('one write', () => {
  const writer = (name: string, log: string[]) => ({
    cork: () => log.push(`cork ${name}`),
    uncork: () => log.push(`uncork ${name}`),
  });

  test('is what each primary gets', () => {
    const log: string[] = [];
    const nodes = [{ stream: writer('a', log) }, { stream: writer('b', log) }];
    const cluster = client({ nodes: (role: string) => (role === 'master' ? nodes : []) });
    inOneWrite(cluster, () => log.push('send'));
    expect(log).toEqual(['cork a', 'cork b', 'send', 'uncork a', 'uncork b']);
  });

  test('goes out though something fails, on the connection that was there before', () => {
    const log: string[] = [];
    const node: { stream?: object } = { stream: writer('a', log) };
    const send = () => {
      node.stream = writer('b', log);
      throw new Error('failed');
    };
    expect(() => inOneWrite(client({ nodes: () => [node] }), send)).toThrow('failed');
    expect(log).toEqual(['cork a', 'uncork a']);
  });

  test.each([
    ['nodes', client({})],
    ['a connection', client({ nodes: () => [{}, { stream: undefined }] })],
    ['a way to collect', client({ nodes: () => [{ stream: {} }] })],
  ])('is nothing that a client without %s must have', (_, without) => {
    let sent = 0;
    inOneWrite(without, () => (sent += 1));
    expect(sent).toBe(1);
  });
});
