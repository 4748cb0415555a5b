import { afterEach, describe, expect, test } from '@jest/globals';
import { Turns } from './turns.js';

describe('turns', () => {
  let turns = new Turns();
  afterEach(() => {
    turns.close();
    turns = new Turns();
  });

  test('come when it is time, not before, and are counted for each policy until then', async () => {
    const began = performance.now();
    const [first, second] = [turns.join(['a'], 30), turns.join(['a', 'b'], 60)];
    expect([turns.size, turns.waitingFor('a'), turns.waitingFor('b'), turns.waitingFor('c')]).toEqual([
      2, 2, 1, 0,
    ]);
    expect(turns.nextMs('a')).toBeLessThanOrEqual(30);
    expect(turns.nextMs('b')).toBeGreaterThan(30);
    expect(turns.nextMs('c')).toBe(0);
    expect(await first.ended).toBe('turn');
    expect(performance.now() - began).toBeGreaterThanOrEqual(30);
    expect([turns.waitingFor('a'), turns.waitingFor('b')]).toEqual([1, 1]);
    expect(await second.ended).toBe('turn');
    expect(performance.now() - began).toBeGreaterThanOrEqual(60);
    expect(turns.size).toBe(0);
  });

  test('are given up by whoever leaves, once', async () => {
    const turn = turns.join(['a'], 60_000);
    turn.leave();
    turn.leave();
    expect(await turn.ended).toBe('left');
    expect([turns.size, turns.waitingFor('a')]).toEqual([0, 0]);
  });

  test('come at once where nobody has to wait', async () => {
    expect(await turns.join(['a'], 0).ended).toBe('turn');
  });

  test('can be further away than a timer reaches', async () => {
    const turn = turns.join(['a'], 2 ** 40);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(turns.size).toBe(1);
    turn.leave();
    expect(await turn.ended).toBe('left');
  });

  test('end for all when they are closed, also for whoever comes then', async () => {
    const waiting = Array.from({ length: 1_000 }, () => turns.join(['a'], 60_000).ended);
    turns.close();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['closed']));
    expect(await turns.join(['a'], 60_000).ended).toBe('closed');
    expect([turns.size, turns.isClosed]).toEqual([0, true]);
  });

  test('do not come before it is time, however early a timer fires', async () => {
    let now = 0;
    const slow = new Turns(() => now);
    const turn = slow.join(['a'], 5);
    let hasEnded = false;
    void turn.ended.then(() => (hasEnded = true));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(hasEnded).toBe(false);
    now = 5;
    expect(await turn.ended).toBe('turn');
  });
});
