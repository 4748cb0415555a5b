import { useLook } from '../shell.js';
import { type Playback, SPEEDS } from './use-playback.js';

/** Plays, stops, and goes to any time. */
export function PlaybackBar({ playback, span }: { readonly playback: Playback; readonly span: number }) {
  const { texts } = useLook();
  const { lab } = texts;
  const { time, isPlaying, secondsPerWindow, toggle, seek, setSpeed } = playback;
  return (
    <section class="playback" aria-label={lab.time}>
      <button type="button" class="primary" data-testid="play" onClick={toggle}>
        {isPlaying ? lab.pause : lab.play}
      </button>
      <input
        type="range"
        data-testid="time"
        aria-label={lab.time}
        aria-valuetext={texts.seconds(time ?? span)}
        min={0}
        max={span}
        step={span / 300}
        value={time ?? span}
        onInput={({ currentTarget }) => seek(Number(currentTarget.value))}
      />
      <output data-testid="now">{texts.seconds(time ?? span)}</output>
      <button type="button" data-testid="whole" disabled={time === undefined} onClick={() => seek(undefined)}>
        {lab.whole}
      </button>
      <label>
        <span>{lab.speed}</span>
        <select
          data-testid="speed"
          value={secondsPerWindow}
          onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {texts.seconds(speed * 1_000)}
            </option>
          ))}
        </select>
      </label>
    </section>
  );
}
