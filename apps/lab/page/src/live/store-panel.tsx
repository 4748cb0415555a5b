import type { LiveSnapshot } from '../../../../api/src/live-view/live-snapshot.js';
import { useLook } from '../shell.js';

/** Whether limits are counted where they should be. */
export function StorePanel({ store: { status, store, circuit } }: Pick<LiveSnapshot, 'store'>) {
  const { live: texts } = useLook().texts;
  return (
    <section
      class={`panel store ${status}`}
      data-testid="store"
      data-status={status}
      aria-label={texts.store}
    >
      <h2>{texts.store}</h2>
      <p role="status">
        <strong>{texts.stores[store]}</strong> <span>{texts.storeStates[status]}</span>
      </p>
      {circuit === 'open' && <p>{texts.circuitOpen}</p>}
    </section>
  );
}
