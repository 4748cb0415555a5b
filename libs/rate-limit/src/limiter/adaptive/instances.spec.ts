import { expect, test } from '@jest/globals';
import { Estimator, type Work } from './estimator.js';

const CAPACITY = 20;
const WORK_MS = 50;
const bounds = { floor: 5, ceiling: 200 };

/** Several instances that estimate by themselves and count together, before one backend, in a time of its own. */
class Instances {
  now = 0;
  held = 0;
  readonly estimators: Estimator[];
  /** How much work of each instance has ended. */
  ended: number[];
  readonly #queue: { readonly work: Work; readonly instance: number }[] = [];
  #working: { readonly work: Work; readonly instance: number; readonly endsAt: number }[] = [];
  #state = 1;

  constructor(count: number) {
    this.estimators = Array.from({ length: count }, () => new Estimator(bounds));
    this.ended = this.estimators.map(() => 0);
  }

  /** Twice as much as the backend can do, in a random order. */
  run(seconds: number): void {
    this.ended = this.ended.map(() => 0);
    for (const until = this.now + seconds * 1_000; this.now < until; this.now += 1) {
      this.#end();
      if (this.now % 5 === 0) for (let count = 0; count < 4; count += 1) this.#request();
    }
  }

  #request(): void {
    const instance = Math.floor(this.#random() * this.estimators.length);
    const estimator = this.estimators[instance]!;
    if (this.held >= estimator.limit) {
      estimator.refused(this.held);
      return;
    }
    this.held += 1;
    estimator.allowed(this.held);
    this.#queue.push({ work: estimator.begin(this.now), instance });
    this.#begin();
  }

  #begin(): void {
    while (this.#working.length < CAPACITY && this.#queue.length > 0) {
      const takes = Math.round(WORK_MS * (0.8 + 0.4 * this.#random()));
      this.#working.push({ ...this.#queue.shift()!, endsAt: this.now + takes });
    }
  }

  #end(): void {
    const ended = this.#working.filter(({ endsAt }) => endsAt <= this.now);
    this.#working = this.#working.filter(({ endsAt }) => endsAt > this.now);
    for (const { work, instance } of ended) {
      this.held -= 1;
      this.ended[instance]! += 1;
      work.end('success', this.now);
    }
    this.#begin();
  }

  #random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }
}

test.each([1, 2, 4, 16])(
  '%d instances before one backend agree on what it can bear, and leave each other work',
  (count) => {
    const instances = new Instances(count);
    instances.run(120);
    for (let minute = 0; minute < 5; minute += 1) {
      instances.run(60);
      const total = instances.ended.reduce((sum, each) => sum + each, 0);
      expect(total / 60).toBeGreaterThan(0.97 * (CAPACITY / WORK_MS) * 1_000);
      const highest = Math.max(...instances.estimators.map(({ limit }) => limit));
      expect(highest).toBeGreaterThanOrEqual(CAPACITY);
      expect(highest).toBeLessThanOrEqual(2.3 * CAPACITY);
      // An even share is one in as many.
      for (const ended of instances.ended) expect(ended).toBeGreaterThan((0.2 * total) / count);
    }
    // One is started anew.
    instances.estimators[0] = new Estimator(bounds);
    instances.run(10);
    expect(instances.estimators[0].limit).toBeGreaterThan(bounds.floor);
    instances.run(60);
    const total = instances.ended.reduce((sum, each) => sum + each, 0);
    expect(instances.ended[0]).toBeGreaterThan((0.2 * total) / count);
  },
);
