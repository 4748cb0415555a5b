import { useLook } from '../shell.js';
import { ConnectionState } from './connection-state.js';
import { PolicyTable } from './policy-table.js';
import { RateChart } from './rate-chart.js';
import { RouteRefusalList } from './route-refusal-list.js';
import { StorePanel } from './store-panel.js';
import { TokenForm } from './token-form.js';
import { TopClients } from './top-clients.js';
import { useLive } from './use-live.js';

/** What the limits of a running sample are doing. */
export function LivePage() {
  const { live: texts } = useLook().texts;
  const live = useLive();
  const { connection, snapshot, history, isFrozen } = live;
  const isConnected = connection !== undefined && connection.state !== 'refused';
  return (
    <div class="live">
      <div class="intro">
        <h1>{texts.title}</h1>
        <p>{texts.intro}</p>
      </div>
      <TokenForm isConnected={isConnected} connect={live.connect} disconnect={live.disconnect} />
      <ConnectionState connection={connection} />
      {snapshot !== undefined && (
        <>
          <div class="live-bar">
            <button
              type="button"
              data-testid="freeze"
              aria-pressed={isFrozen}
              onClick={() => live.setFrozen(!isFrozen)}
            >
              {texts.freeze}
            </button>
            <span class="hint">{texts.instance(snapshot.instance.pid, snapshot.instance.uptimeSeconds)}</span>
          </div>
          <StorePanel store={snapshot.store} />
          <RateChart history={history} />
          <PolicyTable policies={snapshot.policies} history={history} />
          <TopClients policies={snapshot.policies} />
          <RouteRefusalList routes={snapshot.routes} />
        </>
      )}
    </div>
  );
}
