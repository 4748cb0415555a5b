import { startValkey } from '../../../../tools/local-valkey.js';
import { startProxy, type TcpProxy } from '../../../support/tcp-proxy.js';
import type { Scenario } from '../scenario.js';

/** All is well with Valkey, and something is wrong with the way to it. */
function network(name: string, spoil: (proxy: TcpProxy) => void, rest: Partial<Scenario> = {}): Scenario {
  return {
    name,
    faultMs: 2_000,
    decides: 'nothing',
    ...rest,
    start: async () => {
      const server = await startValkey();
      const proxy = await startProxy(server.port);
      return {
        valkey: `valkey://127.0.0.1:${proxy.port}`,
        harm: async () => spoil(proxy),
        mend: () => proxy.mend(),
        stop: async () => {
          await proxy.close();
          await server.stop();
        },
      };
    },
  };
}

const silent = { says: /no answer within 50 ms/ };

/** Each of them is mended by itself, and what was on its way arrives then. */
export const networks: readonly Scenario[] = [
  network('network: 100 ms longer, each way', (proxy) => proxy.delay(100), silent),
  network('network: 1,000 bytes a second', (proxy) => proxy.throttle(1_000), silent),
  network('network: nothing gets through', (proxy) => proxy.hang(), silent),
  network('network: connections are cut', (proxy) => proxy.cut()),
];
