import type { Scenario } from '../../../src/side-by-side/scenario.js';
import type { Request, Run } from '../../../src/side-by-side/simulate.js';
import { told } from '../../../src/side-by-side/told.js';
import { useLook } from '../shell.js';
import type { Texts } from '../texts/en.js';

interface ToldPanelProps {
  readonly runs: readonly Run[];
  readonly scenario: Scenario;
  readonly selected: { readonly run: Run; readonly request: Request } | undefined;
}

const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 429: 'Too Many Requests' };

/** The answer to one request, as it goes over the wire, and what the other algorithms would have answered. */
export function ToldPanel({ runs, scenario, selected }: ToldPanelProps) {
  const { texts } = useLook();
  const { lab, seconds } = texts;
  if (selected === undefined) {
    return (
      <aside class="told" data-testid="told" aria-label={lab.told}>
        <h2>{lab.told}</h2>
        <p>{lab.toldNothing}</p>
      </aside>
    );
  }
  const { run, request } = selected;
  const { status, fields, problem } = told(run, request, scenario);
  return (
    <aside class="told chosen" data-testid="told" aria-label={lab.told}>
      <h2>{lab.told}</h2>
      <p aria-live="polite">
        <strong>
          {lab.toldOf(
            texts.lab.algorithms[run.algorithm],
            seconds(request.at),
            lab.client(request.client),
            request.attempt,
          )}
        </strong>{' '}
        {meaningOf(request, texts)}
      </p>
      <pre dir="ltr" lang="en" tabIndex={0}>
        <b class={request.outcome}>{`HTTP/1.1 ${status} ${REASONS[status]}`}</b>
        {fields.map(([name, value]) => `\n${name}: ${value}`).join('')}
        {problem && `\n\n${JSON.stringify(problem, null, 2)}`}
      </pre>
      <h3>{lab.others}</h3>
      <table>
        <tbody>
          {runs.map((each) => (
            <Other key={each.algorithm} run={each} request={request} scenario={scenario} />
          ))}
        </tbody>
      </table>
    </aside>
  );
}

interface OtherProps {
  readonly run: Run;
  readonly request: Request;
  readonly scenario: Scenario;
}

function Other({ run, request: { arrival, attempt }, scenario }: OtherProps) {
  const { texts } = useLook();
  const same = run.requests.find((each) => each.arrival === arrival && each.attempt === attempt);
  const retryAfter = same && told(run, same, scenario).fields.find(([name]) => name === 'Retry-After')?.[1];
  return (
    <tr>
      <th scope="row">{texts.lab.algorithms[run.algorithm]}</th>
      <td class={same?.outcome}>{same ? texts.lab[same.outcome] : '–'}</td>
      <td dir="ltr">{retryAfter && `Retry-After: ${retryAfter}`}</td>
    </tr>
  );
}

function meaningOf({ verdict }: Request, { lab, seconds }: Texts): string {
  if (verdict.outcome === 'allowed') {
    return verdict.delayMs > 0 ? lab.meaning.waiting(seconds(verdict.delayMs)) : lab.meaning.allowed;
  }
  const { retryAfterMs } = verdict;
  return retryAfterMs === undefined ? lab.meaning.never : lab.meaning.refused(seconds(retryAfterMs));
}
