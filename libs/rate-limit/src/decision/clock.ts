/** Milliseconds since 1970 as an integer. Handed in wherever time matters, so that tests and the lab can move it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
