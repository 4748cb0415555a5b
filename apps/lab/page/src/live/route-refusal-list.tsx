import type { RouteRefusals } from '../../../../api/src/live-view/live-snapshot.js';
import { useLook } from '../shell.js';

/** Which routes refuse most. */
export function RouteRefusalList({ routes }: { readonly routes: readonly RouteRefusals[] }) {
  const { live: texts } = useLook().texts;
  const most = Math.max(1, ...routes.map(({ lastMinute }) => lastMinute));
  return (
    <section class="panel" aria-label={texts.routes} data-testid="routes">
      <h2>{texts.routes}</h2>
      {routes.length === 0 && <p>{texts.none}</p>}
      <ul class="bars">
        {routes.map(({ route, status, lastMinute }) => (
          <li key={`${status} ${route}`}>
            <bdi>
              <code>{route}</code>
            </bdi>
            <span class="bar" aria-hidden="true">
              <span style={{ inlineSize: `${(lastMinute / most) * 100}%` }} />
            </span>
            <span>{lastMinute}</span>
            <span dir="ltr">{status}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
