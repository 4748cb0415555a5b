import type { Answer, Attempt, Store } from '../store.js';
import { hashTag } from '../hash-tag.js';
import type { ValkeyStore } from './valkey-store.js';

/** Attempts whose keys share a slot, and so can be decided by one call. */
interface Group {
  readonly attempts: readonly Attempt[];
  /** Where they stand in the request. */
  readonly places: readonly number[];
}

/**
 * A Cluster. Attempts of one subject share a slot and are decided by one call, atomically. Others are decided side by
 * side, and what was taken is given back when one of them denies or does not answer: all or nothing for the client, but
 * others may see it taken for the time of a round trip.
 */
export class ClusterStore implements Store {
  readonly name = 'valkey';

  constructor(
    private readonly store: ValkeyStore,
    private readonly deadlineMs: number,
  ) {}

  get place(): string {
    return this.store.place;
  }

  open(): Promise<void> {
    return this.store.open();
  }

  shardOf(key: string): string {
    return this.store.shardOf(key);
  }

  consume(attempts: readonly Attempt[]): Promise<Answer> {
    const groups = bySlot(attempts);
    return groups.length === 1 ? this.store.consume(attempts) : this.#consumeAll(groups);
  }

  reset(key: string): Promise<void> {
    return this.store.reset(key);
  }

  close(): void {
    this.store.close();
  }

  async #consumeAll(groups: readonly Group[]): Promise<Answer> {
    const begun = performance.now();
    const asked = groups.map(({ attempts }) => this.store.consume(attempts));
    const settled = await Promise.allSettled(asked);
    const leftMs = Math.max(1, this.deadlineMs - (performance.now() - begun));
    const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    const answers = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    if (failed === undefined && answers.every((answer) => hasPassed(answer!))) {
      return merge(groups, answers as Answer[]);
    }
    const givenBack = groups.map(({ attempts }, index) => this.#giveBack(attempts, answers[index], leftMs));
    if (failed === undefined) return merge(groups, await Promise.all(givenBack as Promise<Answer>[]));
    throw failed.reason;
  }

  /**
   * Gives back what a group took, and answers what it has then. Never rejects: what cannot be given back comes back
   * by itself, and until then too much is counted and not too little.
   */
  async #giveBack(
    attempts: readonly Attempt[],
    answer: Answer | undefined,
    deadlineMs: number,
  ): Promise<Answer | undefined> {
    if (answer === undefined || !hasPassed(answer) || attempts.every(({ cost }) => cost <= 0)) return answer;
    const { at } = answer;
    const back = attempts.map((attempt) => ({ ...attempt, cost: -attempt.cost, at }));
    const look = attempts.map((attempt) => ({ ...attempt, cost: 0 }));
    // Sent one behind the other, so that the look sees what was given back.
    const both = [back, look].map((asked) => this.store.consume(asked, deadlineMs));
    const [, looked] = await Promise.allSettled(both);
    return looked!.status === 'fulfilled' ? looked!.value : answer;
  }
}

function bySlot(attempts: readonly Attempt[]): readonly Group[] {
  const groups = new Map<string, { attempts: Attempt[]; places: number[] }>();
  for (let place = 0; place < attempts.length; place += 1) {
    const attempt = attempts[place]!;
    const tag = hashTag(attempt.key);
    const group = groups.get(tag);
    if (group === undefined) {
      groups.set(tag, { attempts: [attempt], places: [place] });
    } else {
      group.attempts.push(attempt);
      group.places.push(place);
    }
  }
  return [...groups.values()];
}

function hasPassed({ verdicts }: Answer): boolean {
  return verdicts.every(({ outcome }) => outcome === 'allowed');
}

/** One answer of all, in the order of the request. */
function merge(groups: readonly Group[], answers: readonly Answer[]): Answer {
  const verdicts: Answer['verdicts'][number][] = [];
  groups.forEach(({ places }, group) => {
    places.forEach((place, index) => (verdicts[place] = answers[group]!.verdicts[index]!));
  });
  return { at: Math.max(...answers.map(({ at }) => at)), verdicts };
}
