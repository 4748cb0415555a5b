import { startSentinels } from '../../../../tools/local-sentinel.js';
import { until } from '../../../../tools/until.js';
import type { Scenario } from '../scenario.js';
import { promoted } from './promoted.js';

/**
 * Its replica takes its place, with what it has copied by then. What was counted last may be lost, and then a client has
 * that once more; nobody has the limit more than twice, and who was refused some time before stays refused.
 */
export const sentinel: Scenario = {
  name: 'Sentinel: the primary is lost',
  faultMs: 500,
  decides: 'nothing',
  forgets: 'the last',
  start: async () => {
    const group = await startSentinels({ downAfterMs: 500 });
    const { name, urls, primary, stop } = group;
    const replica = group.replicas[0]!;
    const named = () =>
      until('the Sentinels name the replica', async () => (await group.currentPrimary()) === replica);
    return promoted({ sentinels: urls, primary: `valkey://${name}` }, { primary, replica }, { named, stop });
  },
};
