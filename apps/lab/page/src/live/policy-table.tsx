import type { LivePolicy } from '../../../../api/src/live-view/live-snapshot.js';
import { useLook } from '../shell.js';
import { type Moment, refusedOf, SECONDS } from './history.js';

interface PolicyTableProps {
  readonly policies: readonly LivePolicy[];
  readonly history: readonly Moment[];
}

/** What each policy promises, and what it did in the last minute. */
export function PolicyTable({ policies, history }: PolicyTableProps) {
  const { live: texts } = useLook().texts;
  const { heads } = texts;
  return (
    <section class="panel wide" aria-label={texts.policies}>
      <h2>{texts.policies}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={texts.policies}>
        <table data-testid="policies">
          <thead>
            <tr>
              {Object.entries(heads).map(([column, head]) => (
                <th key={column} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {policies.map(({ policy, description, lastSecond, lastMinute }) => (
              <tr key={policy} data-policy={policy}>
                <th scope="row">
                  <code dir="ltr">{policy}</code>
                  {description?.mode === 'shadow' && <span class="tag">{texts.shadow}</span>}
                </th>
                <td>
                  <code dir="ltr">{description?.algorithm ?? '–'}</code>
                </td>
                <td>
                  {description?.limits.map(({ plan, limit, windowMs }) => (
                    <div key={plan ?? ''}>{texts.limit(plan, limit, windowMs)}</div>
                  )) ?? '–'}
                </td>
                <td>{lastSecond.allowed + refusedOf(lastSecond)}</td>
                <td class="allowed">{lastMinute.allowed + lastMinute.unlimited}</td>
                <td class="refused">{refusedOf(lastMinute)}</td>
                <td>{description?.mode === 'shadow' ? lastMinute['shadow-denied'] : '–'}</td>
                <td>
                  <Sparkline values={history.map(({ refusedBy }) => refusedBy[policy] ?? 0)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Refusals of the last two minutes: the highest is as high as there is room. */
function Sparkline({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const from = SECONDS - values.length;
  const path = values.map((value, index) => `M${from + index} 20v${-(value / most) * 19}`).join('');
  return (
    <svg class="sparkline refused" viewBox={`0 0 ${SECONDS} 20`} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
