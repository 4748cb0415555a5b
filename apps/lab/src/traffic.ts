/** When the requests of one client come, in milliseconds. */
export type Traffic = readonly number[];

/** `count` requests, `gap` apart. */
export function evenly(from: number, count: number, gap: number): Traffic {
  return Array.from({ length: count }, (_, index) => from + index * gap);
}

/** On both sides of the edge between two windows of 10 s. */
export const edge: Traffic = [...evenly(9_500, 10, 50), ...evenly(10_000, 10, 50)];

/** Three times as fast as 10 per 10 s allow, for a minute. */
export const steady: Traffic = evenly(0, 180, 333);

/** Three times the limit within a second. */
export const burst: Traffic = evenly(60_000, 30, 33);
