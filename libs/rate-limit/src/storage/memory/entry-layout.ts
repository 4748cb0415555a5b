/** A state that is a list of as many numbers is kept among the words; a longer one, or another thing, in a box. */
export const MOST_NUMBERS = 4;

/**
 * What an entry is, in words of 32 bits: the key's hash; its length, as `KeyWords` has it; two times in seconds since
 * 1970; flags; the key; and, from the next even word, as many numbers of 64 bits as there is room for.
 */
export const HASH = 0;
export const LENGTH = 1;
export const EXPIRES = 2;
export const BLOCKED = 3;
export const FLAGS = 4;
export const KEY = 5;

/** Flags: how many numbers the state has, for how many there is room, and what else is to know. */
export const COUNT = 0b111;
export const ROOM_SHIFT = 3;
export const USED = 1 << 6;
export const BOXED = 1 << 7;
export const DEAD = 1 << 8;

/** In words, of an entry with so many words of a key and room for so many numbers. */
export function sizeOf(keyWords: number, room: number): number {
  return ((KEY + keyWords + 1) & ~1) + 2 * room;
}

export function isNumbers(state: unknown): state is readonly number[] {
  if (!Array.isArray(state) || state.length > MOST_NUMBERS) return false;
  for (let index = 0; index < state.length; index += 1) {
    if (typeof state[index] !== 'number') return false;
  }
  return true;
}

/** How many numbers a state takes: at least one, so that there is room for the number of a box. */
export function roomFor(state: unknown): number {
  return isNumbers(state) ? Math.max(1, state.length) : 1;
}
