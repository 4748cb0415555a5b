import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { spanOf } from '../../../src/side-by-side/scenario.js';
import { type Run, simulate } from '../../../src/side-by-side/simulate.js';
import { useLook } from '../shell.js';
import { Controls } from './controls.js';
import { DrawStrip } from './draw-strip.js';
import { Legend } from './legend.js';
import { PlaybackBar } from './playback-bar.js';
import { RunCard } from './run-card.js';
import { ToldPanel } from './told-panel.js';
import { usePlayback } from './use-playback.js';
import { useScenario } from './use-scenario.js';

interface Selection {
  readonly algorithm: Run['algorithm'];
  readonly index: number;
}

/** The same traffic, and what five algorithms make of it. */
export function LabPage() {
  const { lab } = useLook().texts;
  const [scenario, change] = useScenario();
  const runs = useMemo(() => simulate(scenario), [scenario]);
  const span = spanOf(scenario);
  const playback = usePlayback(span, scenario.windowMs);
  const [selection, setSelection] = useState<Selection | undefined>(undefined);

  // Other numbers make other requests.
  useEffect(() => setSelection(undefined), [runs]);
  useSpace(playback.toggle);
  const { seek } = playback;
  useEffect(() => seek(undefined), [seek, span]);

  const select = useCallback(
    (algorithm: Run['algorithm'], index: number | undefined) =>
      setSelection(index === undefined ? undefined : { algorithm, index }),
    [],
  );
  const run = runs.find(({ algorithm }) => algorithm === selection?.algorithm);
  const request = run?.requests[selection!.index];
  const { traffic } = scenario;

  return (
    <div class="lab">
      <div class="intro">
        <h1>{lab.title}</h1>
        <p>{lab.intro}</p>
      </div>
      <Controls scenario={scenario} change={change} />
      <div class="pictures">
        <p class="see" data-testid="see">
          {typeof traffic === 'string' ? lab.see[traffic] : lab.seeDrawn}
        </p>
        <PlaybackBar playback={playback} span={span} />
        <Legend />
        <DrawStrip scenario={scenario} draw={(columns) => change({ traffic: columns })} />
        {runs.map((each) => (
          <RunCard
            key={each.algorithm}
            run={each}
            scenario={scenario}
            time={playback.time}
            selected={markedIn(each, request)}
            onSelect={select}
          />
        ))}
        <p class="hint">{lab.keys}</p>
      </div>
      <ToldPanel runs={runs} scenario={scenario} selected={run && request && { run, request }} />
    </div>
  );
}

/** The same request in each run, where it came there as well. */
function markedIn(run: Run, request: Run['requests'][number] | undefined): number | undefined {
  if (request === undefined) return undefined;
  const index = run.requests.findIndex(
    ({ arrival, attempt }) => arrival === request.arrival && attempt === request.attempt,
  );
  return index === -1 ? undefined : index;
}

/** Has the space bar do something wherever it does not do something else. */
function useSpace(toggle: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      const isTaken =
        target instanceof Element && target.closest('button, input, select, summary, a') !== null;
      if (event.key !== ' ' || isTaken) return;
      event.preventDefault();
      toggle();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [toggle]);
}
