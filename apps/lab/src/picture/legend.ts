import { cross, dot } from './bands.js';
import { px, RIGHT } from './layout.js';
import type { Observation } from './observe.js';
import type { Scene } from './scenes.js';

interface Entry {
  readonly text: string;
  /** Within 16 pixels from `x`, around `y`. */
  symbol(x: number, y: number): string;
}

const Y = 30;
/** Wide enough for the widest fonts that `system-ui` stands for. */
const CHARACTER = 7;

/** What there is to see, and nothing else, from the right. */
export function legend(scene: Scene, seen: Observation): string[] {
  let x = RIGHT;
  return entries(scene, seen)
    .toReversed()
    .flatMap(({ text, symbol }) => {
      x -= text.length * CHARACTER;
      const label = `<text class="label" x="${px(x)}" y="${Y + 4}">${text}</text>`;
      x -= 22;
      const sign = symbol(x, Y);
      x -= 14;
      return [sign, label];
    });
}

function entries({ edges }: Scene, { requests, held }: Observation): Entry[] {
  const all: Entry[] = [{ text: 'allowed', symbol: (x, y) => dot(x + 10, y) }];
  if (requests.some(({ allowed }) => !allowed)) {
    all.push({ text: 'refused', symbol: (x, y) => cross(x + 10, y) });
  }
  if (requests.some(({ at, reachesAt }) => reachesAt > at)) {
    all.push({ text: 'waits', symbol: (x, y) => `<path class="wait" d="M${px(x)} ${y - 4}l16 8"/>` });
  }
  if (edges.length > 0) {
    all.push({
      text: 'a window begins',
      symbol: (x, y) => `<path class="edge" d="M${px(x + 10)} ${y - 8}v16"/>`,
    });
  }
  if (held.length > 0) all.push(bar('held', 'held'));
  if (held.some(({ died }) => died)) all.push(bar('died', 'never given back'));
  return all;
}

function bar(style: string, text: string): Entry {
  return {
    text,
    symbol: (x, y) => `<rect class="${style}" x="${px(x)}" y="${y - 5}" width="16" height="10" rx="3"/>`,
  };
}
