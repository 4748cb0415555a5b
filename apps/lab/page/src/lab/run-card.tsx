import { useCallback, useRef } from 'preact/hooks';
import { type Scenario, spanOf } from '../../../src/side-by-side/scenario.js';
import type { Run } from '../../../src/side-by-side/simulate.js';
import { useLook } from '../shell.js';
import { Chart, VEIL } from './chart.js';
import { download } from './download.js';
import { RequestTable } from './request-table.js';
import { seenUntil } from './seen-until.js';

interface RunCardProps {
  readonly run: Run;
  readonly scenario: Scenario;
  readonly time: number | undefined;
  readonly selected: number | undefined;
  onSelect(algorithm: Run['algorithm'], index: number | undefined): void;
}

/** One algorithm: what it made of the traffic, in numbers and as a picture. */
export function RunCard({ run, scenario, time, selected, onSelect }: RunCardProps) {
  const { texts, direction } = useLook();
  const { lab, seconds } = texts;
  const { algorithm, requests, worstSecond, worstWindow, longestWaitMs } = run;
  const name = lab.algorithms[algorithm];
  const svg = useRef<() => string>(() => '');
  const { allowed, waiting, refused } = seenUntil(run, time);

  const keepSvg = useCallback((toSvg: () => string) => void (svg.current = toSvg), []);
  const select = useCallback((index: number) => onSelect(algorithm, index), [onSelect, algorithm]);

  const press = (event: KeyboardEvent) => {
    const forward = direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    const back = direction === 'rtl' ? 'ArrowRight' : 'ArrowLeft';
    const last = requests.length - 1;
    const moves: Record<string, number> = {
      [forward]: selected === undefined ? 0 : Math.min(last, selected + 1),
      [back]: selected === undefined ? last : Math.max(0, selected - 1),
      Home: 0,
      End: last,
    };
    if (event.key === 'Escape') onSelect(algorithm, undefined);
    const move = moves[event.key];
    if (move === undefined || last < 0) return;
    event.preventDefault();
    onSelect(algorithm, move);
  };

  return (
    <section
      class="card"
      data-testid={`chart-${algorithm}`}
      data-allowed={allowed}
      data-waiting={waiting}
      data-refused={refused}
    >
      <header>
        <h2>{name}</h2>
        <p>{lab.says[algorithm]}</p>
        <dl>
          <Count kind="allowed" word={lab.allowed} value={allowed} />
          <Count kind="waiting" word={lab.waiting} value={waiting} />
          <Count kind="refused" word={lab.refused} value={refused} />
          <Count kind="worst" word={lab.worstSecond} value={worstSecond.count} />
          <Count kind="window" word={lab.worstWindow} value={worstWindow.count} />
          {longestWaitMs > 0 && <Count kind="wait" word={lab.longestWait} value={seconds(longestWaitMs)} />}
        </dl>
      </header>
      <div class="picture" role="group" tabIndex={0} aria-label={lab.picture(name)} onKeyDown={press}>
        <p class="unseen">{lab.summary(run.allowed, run.waiting, run.refused, worstSecond.count)}</p>
        <Chart run={run} scenario={scenario} selected={selected} onSelect={select} onReady={keepSvg} />
        {time !== undefined && (
          <div
            class="veil"
            data-testid="veil"
            style={{ insetInlineStart: VEIL.start(time / spanOf(scenario)), insetInlineEnd: VEIL.end }}
          />
        )}
      </div>
      <div class="actions">
        <button
          type="button"
          data-testid="save"
          onClick={() => download(`${algorithm}.svg`, 'image/svg+xml', svg.current())}
        >
          {lab.save}
        </button>
        <RequestTable run={run} />
      </div>
    </section>
  );
}

interface CountProps {
  readonly kind: string;
  readonly word: string;
  readonly value: number | string;
}

function Count({ kind, word, value }: CountProps) {
  return (
    <div class={`count ${kind}`}>
      <dt>{word}</dt>
      <dd data-testid={kind}>{value}</dd>
    </div>
  );
}
