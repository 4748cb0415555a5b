import {
  MOST_LIMIT,
  MOST_WINDOW_MS,
  type Preset,
  retriesOf,
  type Scenario,
} from '../../../src/side-by-side/scenario.js';
import { columnsOf } from '../../../src/side-by-side/traffic.js';
import { useLook } from '../shell.js';
import { Choice } from './choice.js';
import { NumberField } from './number-field.js';
import { Share } from './share.js';

interface ControlsProps {
  readonly scenario: Scenario;
  change(changes: Partial<Scenario>): void;
}

const MOST_SECONDS = MOST_WINDOW_MS / 1_000;

/** All that a picture depends on. */
export function Controls({ scenario, change }: ControlsProps) {
  const { lab } = useLook().texts;
  const { traffic, limit, windowMs, burst, retries, key } = scenario;
  const isDrawn = typeof traffic !== 'string';

  const choose = (word: Preset | 'drawn') => {
    if (word === 'drawn') change({ traffic: columnsOf(scenario) });
    else change({ traffic: word, retries: retriesOf(word) });
  };
  return (
    <form class="controls" aria-label={lab.controls} onSubmit={(event) => event.preventDefault()}>
      <Choice
        testId="traffic"
        label={lab.traffic}
        words={{ ...lab.presets, drawn: lab.drawn }}
        value={isDrawn ? 'drawn' : traffic}
        onValue={choose}
      />
      <div class="numbers">
        <NumberField
          testId="limit"
          label={lab.limit}
          hint={lab.limitHint(MOST_LIMIT)}
          error={lab.notWhole(MOST_LIMIT)}
          value={limit}
          most={MOST_LIMIT}
          onValue={(value) => value !== undefined && change({ limit: value })}
        />
        <NumberField
          testId="window"
          label={lab.window}
          hint={lab.windowHint(MOST_SECONDS)}
          error={lab.notWhole(MOST_SECONDS)}
          value={windowMs / 1_000}
          most={MOST_SECONDS}
          onValue={(value) => value !== undefined && change({ windowMs: value * 1_000 })}
        />
        <NumberField
          testId="burst"
          label={lab.burst}
          hint={lab.burstHint(MOST_LIMIT)}
          error={lab.notWhole(MOST_LIMIT)}
          value={burst}
          most={MOST_LIMIT}
          isOptional
          onValue={(value) => change({ burst: value })}
        />
      </div>
      <Choice
        testId="retries"
        label={lab.retries}
        words={lab.retriesWords}
        value={retries}
        onValue={(word) => change({ retries: word })}
      />
      <Choice
        testId="key"
        label={lab.key}
        words={lab.keyWords}
        value={key}
        onValue={(word) => change({ key: word })}
      />
      <Share />
    </form>
  );
}
