import { once } from 'node:events';
import calculateSlot from 'cluster-key-slot';
import { startCluster } from '../../../../tools/local-cluster.js';
import type { Scenario } from '../scenario.js';
import { promoted } from './promoted.js';

const PRIMARIES = 3;
const SLOTS = 16_384;

/** The first of three has the keys of three clients, two of whom ask in the fault, and not the others'. */
const LOST = 0;
const FIRST_SPARED = Math.floor(SLOTS / PRIMARIES);

/** The slot of all that a client has used. */
function slotOf(client: string): number {
  return calculateSlot(`{${client}}`);
}

/** Its replica takes its place as with Sentinels, and promises as little. The other shards go on. */
const primaryLost: Scenario = {
  name: 'Cluster: a primary is lost',
  faultMs: 500,
  decides: 'nothing',
  spares: (client) => slotOf(client) >= FIRST_SPARED,
  forgets: 'the last',
  start: async () => {
    const { nodes, urls, stop } = await startCluster({
      primaries: PRIMARIES,
      replicas: 1,
      nodeTimeoutMs: 1_000,
    });
    const [primary, replica] = [nodes[LOST]!.server, nodes[PRIMARIES + LOST]!.server];
    return promoted({ cluster: urls }, { primary, replica }, { stop });
  },
};

/** Those on the first of two, of who asks while they move; some newcomers come only then. */
const MOVED = ['worn', 'late', ...Array.from({ length: 10 }, (_, count) => `new-${count}`)]
  .map(slotOf)
  .filter((slot) => slot < SLOTS / 2);

/** They go from one node to another while their clients are busy, which nobody is to notice. */
const slotsMove: Scenario = {
  name: 'Cluster: slots move',
  faultMs: 1_000,
  decides: 'everything',
  deadlineMs: 5_000,
  burst: true,
  start: async () => {
    const { nodes, urls, moveSlots, stop } = await startCluster({ primaries: 2 });
    let moving: Promise<void> | undefined;
    const mended = new AbortController();
    const isMended = once(mended.signal, 'abort');
    return {
      valkey: { cluster: urls },
      harm: async () => {
        const halfway = new Promise<void>((resolve) => {
          moving = moveSlots(MOVED, nodes[0]!, nodes[1]!, () => {
            resolve();
            return isMended;
          });
        });
        await Promise.race([halfway, moving]);
      },
      mend: async () => {
        mended.abort();
        await moving;
      },
      stop: async () => {
        mended.abort();
        await moving?.catch(() => undefined); // whoever mends it has heard of it
        await stop();
      },
    };
  },
};

export const clusters: readonly Scenario[] = [primaryLost, slotsMove];
