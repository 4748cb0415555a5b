import { expect, test } from '@jest/globals';
import { MemoryStore } from '../storage/memory/memory-store.js';
import { compilePolicy } from './policy.js';
import { toDecisions } from './to-decisions.js';

const START = 1_000_000_000_000;

const policies = [
  compilePolicy<never>('places', 'places', { algorithm: 'concurrency', limit: 5, lease: '1m' }, 'local'),
  compilePolicy<never>('window', 'window', { algorithm: 'fixed-window', limit: 1, window: '1m' }, 'local'),
];

test('what would have passed beside a denial has taken nothing, and holds no places', () => {
  const store = new MemoryStore(() => START);
  const attempts = policies.map((policy) => {
    return { policy, rule: policy.rule, key: policy.name, cost: 1, lease: 'a lease' };
  });
  const decide = () => toDecisions(attempts, store.consume(attempts), 'memory');

  expect(decide()).toMatchObject([
    { policy: 'places', outcome: 'allowed', cost: 1, lease: 'a lease', remaining: 4 },
    { policy: 'window', outcome: 'allowed', cost: 1, remaining: 0 },
  ]);
  const [places, window] = decide();
  expect(places).toMatchObject({ outcome: 'allowed', cost: 0, remaining: 4 });
  expect(places).not.toHaveProperty('lease');
  expect(window).toMatchObject({ outcome: 'denied', cost: 0 });
});
