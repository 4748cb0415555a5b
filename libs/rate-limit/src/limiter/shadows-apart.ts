import { type Decision, passes } from '../decision/decision.js';
import type { Attempt, Store } from '../storage/store.js';

type Decided = readonly Decision[] | Promise<readonly Decision[]>;

/** Those in shadow whose shard is no other's: when it does not answer, nobody is to be refused for it. */
export function shadowsApart<Asked extends Attempt>(
  attempts: readonly Asked[],
  { shardOf }: Pick<Store, 'shardOf'>,
): readonly Asked[] {
  if (shardOf === undefined || !attempts.some(isShadow)) return [];
  const shards = new Set(attempts.filter((each) => !isShadow(each)).map(({ key }) => shardOf(key)));
  return shards.size === 0 ? [] : attempts.filter((each) => isShadow(each) && !shards.has(shardOf(each.key)));
}

/**
 * Decides them side by side with the others.
 *
 * @param giveBack takes back what one in shadow has taken: as everywhere, it takes nothing where the request is refused
 */
export async function decideApart<Asked extends Attempt>(
  attempts: readonly Asked[],
  apart: readonly Asked[],
  ask: (attempts: readonly Asked[]) => Decided,
  giveBack: (attempts: readonly Asked[], decisions: readonly Decision[]) => Promise<void>,
): Promise<readonly Decision[]> {
  const together = attempts.filter((attempt) => !apart.includes(attempt));
  const [decisions, ...ofShadows] = await Promise.all([
    ask(together),
    ...apart.map((attempt) => ask([attempt])),
  ]);
  const shadows = ofShadows.flat();
  if (!passes(decisions)) void giveBack(apart, shadows);
  const [told, toldApart] = [decisions.values(), shadows.values()];
  return attempts.map((attempt) => (apart.includes(attempt) ? toldApart : told).next().value!);
}

function isShadow({ shadow }: Attempt): boolean {
  return shadow === true;
}
