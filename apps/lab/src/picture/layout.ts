import type { Axis } from './scenes.js';

/** Pixels. Three bands over one time axis: the level, the requests, and what reaches the application. */
export const WIDTH = 900;
export const HEIGHT = 392;
export const LEFT = 132;
export const RIGHT = WIDTH - 24;
export const BANDS = {
  top: 82,
  level: { top: 98, bottom: 178 },
  requests: { top: 194, bottom: 258 },
  application: { top: 274, bottom: 338 },
};
export const DOT = 3;
/** From one dot's middle to the next one's, at least. */
const PITCH = 7.2;

/** Where a time is. */
export function scale({ from, to }: Axis): (at: number) => number {
  return (at) => LEFT + ((at - from) / (to - from)) * (RIGHT - LEFT);
}

/**
 * How high each dot sits, in rows from 0, so that dots keep their time and none covers another: the lowest row where
 * there is room.
 *
 * @param xs in pixels, ascending
 */
export function rows(xs: readonly number[]): number[] {
  const ends: number[] = [];
  return xs.map((x) => {
    let row = ends.findIndex((end) => end + PITCH <= x);
    if (row === -1) row = ends.length;
    ends[row] = x;
    return row;
  });
}

/** The middle of a dot in a row of a band. */
export function height(bottom: number, row: number): number {
  return bottom - 5 - row * PITCH;
}

/** One decimal is finer than a screen, and the same on every machine. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
