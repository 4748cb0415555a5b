/** Numbers from 0 to below 1, the same for the same seed, on every machine. */
export type Random = () => number;

/** A linear congruential generator with the constants of Numerical Recipes: enough for times between requests. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** How long until the next of what comes `perMs` times a millisecond on average, independently of each other. */
export function nextIn(random: Random, perMs: number): number {
  return -Math.log(1 - random()) / perMs;
}
