import {
  BLOCKED,
  BOXED,
  COUNT,
  DEAD,
  EXPIRES,
  FLAGS,
  HASH,
  isNumbers,
  KEY,
  LENGTH,
  MOST_NUMBERS,
  ROOM_SHIFT,
  roomFor,
  sizeOf,
  USED,
} from './entry-layout.js';
import { type KeyWords, wordsOf } from './key-words.js';

/** Seconds since 1970 that never come, in 32 bits: 2106. What would run out later is kept. */
export const FOREVER = 0xffff_ffff;

/** Where an entry is that is not there. */
export const NONE = 0;

/** Even, as all entries begin, and no entry's place is `NONE`. */
const FIRST = 2;

/** Where an entry was that is dead. Odd, so that no entry is there. */
const GONE = 1;

/**
 * A few hundred entries, one behind the other in a buffer of their own, and a table of where each is. What is taken out is
 * only marked. When there is no room for another, the entries that matter are copied into a new segment, which takes
 * some microseconds; so nothing here ever grows with the number of all clients.
 *
 * Nothing of it lies in the heap, so that the garbage collector, too, has nothing to copy and nothing to mark, however
 * many clients there are.
 */
export class Segment {
  /** How many entries there are, expired ones included. */
  size = 0;
  /** Before this second nothing runs out. */
  earliest = FOREVER;
  readonly #slots: Uint32Array;
  readonly #words: Uint32Array;
  /** The same buffer. */
  readonly #numbers: Float64Array;
  readonly #boxes: unknown[] = [];
  #end = FIRST;
  #slotsTaken = 0;

  /** @param entries about how many there will be, in `words` words */
  constructor(entries: number, words: number) {
    const slots = 1 << (32 - Math.clz32(Math.floor((4 * entries) / 3)));
    const evenWords = FIRST + words + (words & 1);
    const buffer = new ArrayBuffer(4 * (evenWords + Math.max(2, slots)));
    this.#words = new Uint32Array(buffer, 0, evenWords);
    this.#numbers = new Float64Array(buffer, 0, evenWords >> 1);
    this.#slots = new Uint32Array(buffer, 4 * evenWords);
  }

  /** Where the entry of a key is; `NONE` where there is none. */
  find({ hash, length, words: key, count }: KeyWords): number {
    const slots = this.#slots;
    const words = this.#words;
    const mask = slots.length - 1;
    for (let slot = (hash >>> 16) & mask; ; slot = (slot + 1) & mask) {
      const at = slots[slot]!;
      if (at === NONE) return NONE;
      if (at === GONE || words[at + HASH] !== hash || words[at + LENGTH] !== length) continue;
      let same = 0;
      while (same < count && words[at + KEY + same] === key[same]) same += 1;
      if (same === count) return at;
    }
  }

  /** The state of the entry that is there. */
  state(at: number): unknown {
    const flags = this.#words[at + FLAGS]!;
    const numbers = this.#numbers;
    const first = this.#numbersAt(at);
    if ((flags & BOXED) !== 0) return this.#boxes[numbers[first]!];
    switch (flags & COUNT) {
      case 0:
        return [];
      case 1:
        return [numbers[first]!];
      case 2:
        return [numbers[first]!, numbers[first + 1]!];
      case 3:
        return [numbers[first]!, numbers[first + 1]!, numbers[first + 2]!];
      default:
        return [numbers[first]!, numbers[first + 1]!, numbers[first + 2]!, numbers[first + 3]!];
    }
  }

  /** Writes another state, if there is room for it. */
  rewrite(at: number, state: unknown): boolean {
    const flags = this.#words[at + FLAGS]!;
    if ((flags & BOXED) !== 0) {
      this.#boxes[this.#numbers[this.#numbersAt(at)]!] = state;
      return true;
    }
    if (isNumbers(state) && state.length > ((flags >> ROOM_SHIFT) & COUNT)) return false;
    this.#writeState(at, state, flags);
    return true;
  }

  /** Adds an entry. Answers where, or `NONE` where there is no room for it. */
  add(key: KeyWords, state: unknown): number {
    const at = this.#end;
    const room = roomFor(state);
    const end = at + sizeOf(key.count, room);
    if (end > this.#words.length || 4 * this.#slotsTaken >= 3 * this.#slots.length) return NONE;
    const words = this.#words;
    words[at + HASH] = key.hash;
    words[at + LENGTH] = key.length;
    for (let index = 0; index < key.count; index += 1) words[at + KEY + index] = key.words[index]!;
    this.#writeState(at, state, room << ROOM_SHIFT);
    this.#end = end;
    this.#enter(at);
    return at;
  }

  remove(at: number): void {
    const slots = this.#slots;
    const words = this.#words;
    const mask = slots.length - 1;
    let slot = (words[at + HASH]! >>> 16) & mask;
    while (slots[slot] !== at) slot = (slot + 1) & mask;
    slots[slot] = GONE;
    const flags = words[at + FLAGS]!;
    if ((flags & BOXED) !== 0) this.#boxes[this.#numbers[this.#numbersAt(at)]!] = undefined;
    words[at + FLAGS] = flags | DEAD;
    this.size -= 1;
  }

  /** The second from which an entry does not matter any more. */
  expires(at: number): number {
    return this.#words[at + EXPIRES]!;
  }

  expireAt(at: number, second: number): void {
    this.#words[at + EXPIRES] = second;
    if (second < this.earliest) this.earliest = second;
  }

  /** Until which second its client can take nothing more. */
  blocked(at: number): number {
    return this.#words[at + BLOCKED]!;
  }

  blockUntil(at: number, second: number): void {
    this.#words[at + BLOCKED] = second;
  }

  /** Whether an entry was asked about since it was last looked at to make room. */
  isUsed(at: number): boolean {
    return (this.#words[at + FLAGS]! & USED) !== 0;
  }

  setUsed(at: number, used: boolean): void {
    const flags = this.#words[at + FLAGS]!;
    this.#words[at + FLAGS] = used ? flags | USED : flags & ~USED;
  }

  /** How many places there are to look for entries in, all of them one by one. */
  get places(): number {
    return this.#slots.length;
  }

  /** Where the entry of a place is; `NONE` where it has none. */
  entryOf(place: number): number {
    const at = this.#slots[place]!;
    return at === GONE ? NONE : at;
  }

  /**
   * A new segment, if there is anything for it, with the entries whose hash, masked, is `bits`, without those that have run out, and with room for
   * one more entry of a key.
   *
   * @param second now, in seconds since 1970
   */
  copy(second: number, mask: number, bits: number, key?: KeyWords): Segment | undefined {
    const words = this.#words;
    const wanted: number[] = [];
    let needed = 0;
    for (let at = FIRST; at < this.#end; at += this.#sizeAt(at)) {
      if ((words[at + FLAGS]! & DEAD) !== 0 || words[at + EXPIRES]! <= second) continue;
      if ((words[at + HASH]! & mask) >>> 0 !== bits) continue;
      wanted.push(at);
      needed += this.#sizeAt(at);
    }
    const another = key === undefined ? 0 : sizeOf(key.count, MOST_NUMBERS);
    if (wanted.length === 0 && another === 0) return undefined;
    // A quarter more: what it leaves unused, and how often it is copied while it fills, are both small.
    const spare = Math.max(wanted.length >> 2, another === 0 ? 0 : 8);
    const each = Math.max(another, Math.ceil(needed / Math.max(1, wanted.length)));
    const segment = new Segment(wanted.length + spare + 1, needed + spare * each + another);
    for (const at of wanted) segment.#take(this, at);
    return segment;
  }

  /** Copies an entry of another segment, as it is. */
  #take(other: Segment, from: number): void {
    const at = this.#end;
    const size = other.#sizeAt(from);
    const words = other.#words;
    for (let index = 0; index < size; index += 1) this.#words[at + index] = words[from + index]!;
    if ((words[from + FLAGS]! & BOXED) !== 0) {
      const box = other.#boxes[other.#numbers[other.#numbersAt(from)]!];
      this.#numbers[this.#numbersAt(at)] = this.#boxes.push(box) - 1;
    }
    this.#end += size;
    this.earliest = Math.min(this.earliest, words[from + EXPIRES]!);
    this.#enter(at);
  }

  #enter(at: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = (this.#words[at + HASH]! >>> 16) & mask;
    while (slots[slot] !== NONE) slot = (slot + 1) & mask;
    slots[slot] = at;
    this.#slotsTaken += 1;
    this.size += 1;
  }

  #writeState(at: number, state: unknown, flags: number): void {
    const first = this.#numbersAt(at);
    const kept = flags & ~(COUNT | BOXED);
    if (!isNumbers(state)) {
      this.#numbers[first] = this.#boxes.push(state) - 1;
      this.#words[at + FLAGS] = kept | BOXED;
      return;
    }
    for (let index = 0; index < state.length; index += 1) this.#numbers[first + index] = state[index]!;
    this.#words[at + FLAGS] = kept | state.length;
  }

  #numbersAt(at: number): number {
    return (at + KEY + wordsOf(this.#words[at + LENGTH]!) + 1) >> 1;
  }

  #sizeAt(at: number): number {
    const room = (this.#words[at + FLAGS]! >> ROOM_SHIFT) & COUNT;
    return sizeOf(wordsOf(this.#words[at + LENGTH]!), room);
  }
}

/** Without an entry, and without room for one. */
export const EMPTY = new Segment(0, 0);
