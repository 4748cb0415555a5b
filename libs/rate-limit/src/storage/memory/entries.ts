import { KeyWords } from './key-words.js';
import { EMPTY, FOREVER, NONE, type Segment } from './segment.js';

/** How many entries a segment has on the average: few enough to be copied in some ten microseconds. */
const SEGMENT_SIZE = 256;

/**
 * Up to as many keys, what has run out is not let go of to make room: should the clock step back, it counts again, as it
 * does in Valkey.
 */
const FEW = 1_000;

/** Places looked at, at the most, for an entry that can go: a few microseconds. The next look goes on where it ended. */
const MOST_LOOKS = 512;

/**
 * What is kept of each key, in segments that are chosen by a hash of it. There are more of them as there are more keys:
 * one at a time is split into two (linear hashing), so that no growth is a pause.
 *
 * Whoever wants something of a key seeks it first.
 *
 * @example
 * entries.seek('client');
 * if (entries.found) entries.state;
 */
export class Entries {
  /** How many there are, expired ones included that were not swept yet. */
  size = 0;
  readonly #key = new KeyWords();
  readonly #segments: Segment[] = [EMPTY];
  /** Segments are `#mask` + 1 and those that are split: the first `#split`, whose other halves are at the end. */
  #mask = 0;
  #split = 0;
  /** The key that was sought: its segment, and where it is there. */
  #index = 0;
  #segment = EMPTY;
  #at = NONE;
  /** Where the next sweep and the next look for room begin. */
  #sweepIndex = 0;
  #roomIndex = 0;
  #roomPlace = 0;

  seek(key: string): void {
    this.#key.read(key);
    const { hash } = this.#key;
    const index = (hash & this.#mask) >>> 0;
    this.#index = index < this.#split ? (hash & (2 * this.#mask + 1)) >>> 0 : index;
    this.#segment = this.#segments[this.#index]!;
    this.#at = this.#segment.find(this.#key);
  }

  get found(): boolean {
    return this.#at !== NONE;
  }

  /** `undefined` where there is none. */
  get state(): unknown {
    return this.#at === NONE ? undefined : this.#segment.state(this.#at);
  }

  /** Somebody asked about what was found: it is not idle. */
  use(blockedUntil: number): void {
    this.#segment.setUsed(this.#at, true);
    this.#segment.blockUntil(this.#at, toSecond(blockedUntil));
  }

  /** What was found is kept until then, if it was to go sooner. */
  prolong(expiresAt: number): void {
    this.#segment.expireAt(this.#at, Math.max(this.#segment.expires(this.#at), toSecond(expiresAt)));
  }

  /** Writes another state of what was found. Times are in milliseconds since 1970, as everywhere here. */
  rewrite(state: unknown, expiresAt: number, now: number): void {
    if (this.#segment.rewrite(this.#at, state)) {
      this.#segment.expireAt(this.#at, toSecond(expiresAt));
      return;
    }
    const blocked = this.#segment.blocked(this.#at);
    this.remove();
    this.#add(state, now);
    this.#segment.expireAt(this.#at, toSecond(expiresAt));
    this.#segment.blockUntil(this.#at, blocked);
    this.#segment.setUsed(this.#at, true);
  }

  /** Adds what was not found. */
  add(state: unknown, expiresAt: number, blockedUntil: number, now: number): void {
    this.#add(state, now);
    this.#segment.expireAt(this.#at, toSecond(expiresAt));
    this.#segment.blockUntil(this.#at, toSecond(blockedUntil));
    if (this.size > SEGMENT_SIZE * this.#segments.length) this.#splitNext(now);
  }

  /** Lets go of what was found. */
  remove(): void {
    this.#segment.remove(this.#at);
    this.size -= 1;
    this.#at = NONE;
  }

  clear(): void {
    this.size = 0;
    this.#segments.splice(0, Infinity, EMPTY);
    [this.#mask, this.#split, this.#sweepIndex, this.#roomIndex, this.#roomPlace] = [0, 0, 0, 0, 0];
  }

  /**
   * Lets go of what has run out, in one segment after the other, until it has looked at so many entries. Answers whether
   * it has come to the end; the next sweep goes on where this one has ended.
   */
  sweep(entries: number, now: number): boolean {
    if (this.size === 0) this.clear();
    const second = toPastSecond(now);
    for (let looked = 0; looked < entries; this.#sweepIndex += 1) {
      if (this.#sweepIndex >= this.#segments.length) {
        this.#sweepIndex = 0;
        return true;
      }
      const segment = this.#segments[this.#sweepIndex]!;
      looked += 1;
      if (segment === EMPTY || (segment.earliest > second && segment.size > 0)) continue;
      looked += segment.size;
      this.#replace(this.#sweepIndex, segment.copy(second, 0, 0));
    }
    return false;
  }

  /**
   * Lets one entry go: one that has run out, or else one of a client that can still take something, rather an idle
   * one. Answers whether there was one that may.
   */
  makeRoom(now: number): boolean {
    const second = toPastSecond(now);
    let from = EMPTY;
    let found = NONE;
    for (let looked = 0; looked < MOST_LOOKS; looked += 1) {
      const segment = this.#nextPlace();
      const at = segment.entryOf(this.#roomPlace);
      if (at === NONE) continue;
      const expired = segment.expires(at) <= second;
      if (!expired && segment.blocked(at) > second) continue;
      if (expired || found === NONE || !segment.isUsed(at)) [from, found] = [segment, at];
      if (expired || !segment.isUsed(at)) break;
      segment.setUsed(at, false);
    }
    if (found === NONE) return false;
    from.remove(found);
    this.size -= 1;
    return true;
  }

  /** The next place in an endless round. */
  #nextPlace(): Segment {
    this.#roomPlace += 1;
    if (this.#roomPlace < this.#segments[this.#roomIndex]!.places) return this.#segments[this.#roomIndex]!;
    this.#roomPlace = 0;
    this.#roomIndex = (this.#roomIndex + 1) % this.#segments.length;
    return this.#segments[this.#roomIndex]!;
  }

  #add(state: unknown, now: number): void {
    this.#at = this.#segment.add(this.#key, state);
    if (this.#at === NONE) {
      const larger = this.#segment.copy(this.#expiredSecond(now), 0, 0, this.#key);
      this.#segment = this.#replace(this.#index, larger);
      this.#at = this.#segment.add(this.#key, state);
    }
    this.size += 1;
  }

  #splitNext(now: number): void {
    const index = this.#split;
    const whole = this.#segments[index]!;
    const second = this.#expiredSecond(now);
    const mask = 2 * this.#mask + 1;
    const other = index + this.#mask + 1;
    const half = whole.copy(second, mask, other) ?? EMPTY;
    this.#segments.push(half);
    this.size += half.size;
    this.#replace(index, whole.copy(second, mask, index));
    this.#split += 1;
    if (this.#split <= this.#mask) return;
    [this.#mask, this.#split] = [mask, 0];
  }

  /** What ran out by then is not copied. */
  #expiredSecond(now: number): number {
    return this.size > FEW ? toPastSecond(now) : 0;
  }

  #replace(index: number, segment = EMPTY): Segment {
    this.size += segment.size - this.#segments[index]!.size;
    this.#segments[index] = segment;
    return segment;
  }
}

/** The second at which a time has passed for certain, so that nothing goes too early. */
function toSecond(milliseconds: number): number {
  return Math.min(FOREVER, Math.max(0, Math.ceil(milliseconds / 1_000)));
}

/** The second that has passed. */
function toPastSecond(now: number): number {
  return Math.min(FOREVER - 1, Math.max(0, Math.floor(now / 1_000)));
}
