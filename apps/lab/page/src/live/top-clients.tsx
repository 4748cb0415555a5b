import type { LivePolicy } from '../../../../api/src/live-view/live-snapshot.js';
import { useLook } from '../shell.js';

/** Who is close to a limit, or over it, by policy. */
export function TopClients({ policies }: { readonly policies: readonly LivePolicy[] }) {
  const { live: texts } = useLook().texts;
  const known = policies.filter(({ top }) => top === 'unavailable' || top.length > 0);
  return (
    <section class="panel" aria-label={texts.top} data-testid="top">
      <h2>{texts.top}</h2>
      <p class="hint">{texts.topHint}</p>
      {known.length === 0 && <p>{texts.nobody}</p>}
      {known.some(({ top }) => top === 'unavailable') && <p class="refused">{texts.topUnavailable}</p>}
      {known.map(
        ({ policy, top }) =>
          top !== 'unavailable' && (
            <div key={policy}>
              <h3>
                <code dir="ltr">{policy}</code>
              </h3>
              <ul class="bars">
                {top.map(({ key, limit, remaining, denied }) => (
                  <li key={key}>
                    <bdi>
                      <code>{key}</code>
                    </bdi>
                    <meter
                      min={0}
                      max={Math.max(1, limit)}
                      high={limit * 0.8}
                      optimum={0}
                      value={limit - remaining}
                      aria-label={texts.used(limit - remaining, limit)}
                    />
                    <span>{texts.used(limit - remaining, limit)}</span>
                    <span class={denied > 0 ? 'refused' : undefined}>{texts.deniedTo(denied)}</span>
                  </li>
                ))}
              </ul>
            </div>
          ),
      )}
    </section>
  );
}
