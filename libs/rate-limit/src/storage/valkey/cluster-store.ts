import type { Answer, Attempt, Store } from '../store.js';
import { hashTag } from '../hash-tag.js';
import { passes } from '../verdicts.js';
import { Batches } from './batches.js';
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
 *
 * What is asked in one turn of the event loop goes to each node in one write, and what has the same keys in one call. A
 * call never has keys of two slots, so what one shard does not decide fails there alone.
 */
export class ClusterStore implements Store {
  readonly name = 'valkey';
  readonly #batches: Batches<readonly Attempt[], Answer>;

  /** @param together runs what sends calls to any nodes, and may collect what it writes until it has run */
  constructor(
    private readonly store: ValkeyStore,
    private readonly deadlineMs: number,
    together: (send: () => void) => void,
  ) {
    this.#batches = new Batches((requests) => store.decide(requests), { callOf: keysOf, together });
  }

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
    return groups.length === 1 ? this.#batches.add(attempts) : this.#consumeAll(groups);
  }

  reset(key: string): Promise<void> {
    return this.store.reset(key);
  }

  close(): void {
    this.store.close();
  }

  async #consumeAll(groups: readonly Group[]): Promise<Answer> {
    const begun = performance.now();
    const asked = this.#batches.addAll(groups.map(({ attempts }) => attempts));
    const settled = await Promise.allSettled(asked);
    const leftMs = Math.max(1, this.deadlineMs - (performance.now() - begun));
    const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    const answers = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    if (
      failed === undefined &&
      answers.every((answer, index) => passes(groups[index]!.attempts, answer!.verdicts))
    ) {
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
    if (answer === undefined || !passes(attempts, answer.verdicts)) return answer;
    const { at, verdicts } = answer;
    const taken = attempts.filter(({ cost }, index) => cost > 0 && verdicts[index]!.outcome === 'allowed');
    if (taken.length === 0) return answer;
    const back = taken.map((attempt) => ({ ...attempt, cost: -attempt.cost, at }));
    const look = attempts.map((attempt) => ({ ...attempt, cost: 0 }));
    try {
      // One behind the other, so that the look sees what was given back.
      const [, looked] = await this.store.decide([back, look], deadlineMs);
      if (looked === undefined || looked instanceof Error) return answer;
      // A look is never denied, and what is in shadow may have been.
      const told = verdicts.map((one, index) => (one.outcome === 'denied' ? one : looked.verdicts[index]!));
      return { at: looked.at, verdicts: told };
    } catch {
      return answer;
    }
  }
}

/**
 * Requests with the same keys share a call, and others do not, though their slot may be the same: while it moves, some of
 * the keys of a call would be on one node and some on the other, and neither can decide it.
 */
function keysOf(attempts: readonly Attempt[]): string {
  return attempts.length === 1 ? attempts[0]!.key : attempts.map(({ key }) => key).join(' ');
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

/**
 * One answer of all, in the order of the request. Each node has its own clock, and the earliest time stands for all: by a
 * later one a refund could give back what has come back by itself already.
 */
function merge(groups: readonly Group[], answers: readonly Answer[]): Answer {
  const verdicts: Answer['verdicts'][number][] = [];
  groups.forEach(({ places }, group) => {
    places.forEach((place, index) => (verdicts[place] = answers[group]!.verdicts[index]!));
  });
  return { at: Math.min(...answers.map(({ at }) => at)), verdicts };
}
