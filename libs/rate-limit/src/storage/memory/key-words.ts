/** Chosen anew in each process, so that nobody can send keys that all meet in one place. */
const [SEED_LOW, SEED_HIGH] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];

/** Words behind a key's own that hashing takes. */
const TAIL = 4;

/**
 * A key as numbers: its characters packed into words of 32 bits, and a hash of them. One is read into again and again,
 * because reading a key is what every decision begins with.
 *
 * A key that was just put together has to be made one text and walked through by whoever looks for it, a Map as well;
 * doing it here costs no more, and what is kept of the key can lie outside of the heap.
 */
export class KeyWords {
  /** The first `count` are the key's. */
  words = new Uint32Array(64);
  count = 0;
  /** Twice the number of characters, plus 1 where they take 16 bits each. With the words it is the key, exactly. */
  length = 0;
  /** 32 bits from 0. */
  hash = 0;

  read(key: string): void {
    if (key.length > 2 * (this.words.length - TAIL)) this.words = new Uint32Array(key.length + TAIL);
    const narrow = this.#readNarrow(key);
    this.count = narrow ? (key.length + 3) >> 2 : this.#readWide(key);
    this.length = 2 * key.length + (narrow ? 0 : 1);
    this.hash = hashOf(this.words, this.count);
  }

  /** Four characters a word. Answers whether all of them have 8 bits. */
  #readNarrow(key: string): boolean {
    const { words } = this;
    const whole = key.length - (key.length & 3);
    let all = 0;
    for (let index = 0; index < whole; index += 4) {
      const first = key.charCodeAt(index);
      const second = key.charCodeAt(index + 1);
      const third = key.charCodeAt(index + 2);
      const fourth = key.charCodeAt(index + 3);
      all |= first | second | third | fourth;
      words[index >> 2] = first | (second << 8) | (third << 16) | (fourth << 24);
    }
    let last = 0;
    for (let index = whole; index < key.length; index += 1) {
      const code = key.charCodeAt(index);
      all |= code;
      last |= code << (8 * (index - whole));
    }
    if (whole < key.length) words[whole >> 2] = last;
    return all <= 0xff;
  }

  /** Two characters a word. Answers how many words that makes. */
  #readWide(key: string): number {
    const count = (key.length + 1) >> 1;
    this.words.fill(0, 0, count);
    for (let index = 0; index < key.length; index += 1) {
      this.words[index >> 1]! |= key.charCodeAt(index) << (16 * (index & 1));
    }
    return count;
  }
}

/** How many words a key of a `length` takes. */
export function wordsOf(length: number): number {
  const characters = length >>> 1;
  return (length & 1) === 0 ? (characters + 3) >> 2 : (characters + 1) >> 1;
}

/**
 * HalfSipHash-1-3 (Aumasson and Bernstein, SipHash: a fast short-input PRF): whoever does not know the seed cannot make
 * keys whose hashes are alike. Faster hashes are no secret, and clients choose their keys.
 *
 * @param words the key's, and behind them `TAIL` that are free
 */
function hashOf(words: Uint32Array, count: number): number {
  words[count] = count;
  // Three rounds in which nothing is put in end it.
  for (let index = 1; index < TAIL; index += 1) words[count + index] = 0;
  let a = SEED_LOW | 0;
  let b = SEED_HIGH | 0;
  let c = a ^ 0x6c796765;
  let d = b ^ 0x74656462;
  for (let round = 0; round < count + TAIL; round += 1) {
    const word = words[round]!;
    if (round === count + 1) c ^= 0xff;
    d ^= word;
    a = (a + b) | 0;
    b = ((b << 5) | (b >>> 27)) ^ a;
    a = (a << 16) | (a >>> 16);
    c = (c + d) | 0;
    d = ((d << 8) | (d >>> 24)) ^ c;
    a = (a + d) | 0;
    d = ((d << 7) | (d >>> 25)) ^ a;
    c = (c + b) | 0;
    b = ((b << 13) | (b >>> 19)) ^ c;
    c = (c << 16) | (c >>> 16);
    a ^= word;
  }
  return (b ^ d) >>> 0;
}
