import { useRef, useState } from 'preact/hooks';
import { COLUMNS, MOST_IN_COLUMN, type Scenario, spanOf } from '../../../src/side-by-side/scenario.js';
import { columnsOf } from '../../../src/side-by-side/traffic.js';
import { useLook } from '../shell.js';

interface DrawStripProps {
  readonly scenario: Scenario;
  draw(columns: readonly number[]): void;
}

/** The traffic as columns that can be dragged, and that are sliders for a keyboard, with one tab stop for all. */
export function DrawStrip({ scenario, draw }: DrawStripProps) {
  const { texts, direction } = useLook();
  const { lab } = texts;
  const columns = columnsOf(scenario).map((count) => Math.min(MOST_IN_COLUMN, count));
  const [current, setCurrent] = useState(0);
  const strip = useRef<HTMLDivElement>(null);
  const before = useRef<number | undefined>(undefined);
  const width = spanOf(scenario) / COLUMNS;

  const set = (column: number, count: number) =>
    draw(columns.with(column, Math.max(0, Math.min(MOST_IN_COLUMN, count))));

  const drag = ({ clientX, clientY }: PointerEvent) => {
    const box = strip.current!.getBoundingClientRect();
    const across = (clientX - box.left) / box.width;
    const column = clamp(Math.floor((direction === 'rtl' ? 1 - across : across) * COLUMNS), COLUMNS - 1);
    const count = clamp(Math.round((1 - (clientY - box.top) / box.height) * MOST_IN_COLUMN), MOST_IN_COLUMN);
    // A fast hand skips columns: those between get the same.
    const [from, to] = [before.current ?? column, column].toSorted((one, other) => one - other) as [
      number,
      number,
    ];
    before.current = column;
    setCurrent(column);
    draw(columns.map((its, index) => (index >= from && index <= to ? count : its)));
  };

  const press = (event: KeyboardEvent) => {
    const forward = direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    const back = direction === 'rtl' ? 'ArrowRight' : 'ArrowLeft';
    const moves: Record<string, number> = {
      [forward]: current + 1,
      [back]: current - 1,
      Home: 0,
      End: COLUMNS - 1,
    };
    const counts: Record<string, number> = {
      ArrowUp: columns[current]! + 1,
      ArrowDown: columns[current]! - 1,
      Delete: 0,
      Backspace: 0,
    };
    const count = /^\d$/.test(event.key) ? Number(event.key) : counts[event.key];
    const move = moves[event.key];
    if (count !== undefined) set(current, count);
    else if (move !== undefined) focus(clamp(move, COLUMNS - 1));
    else return;
    event.preventDefault();
  };

  const focus = (column: number) => {
    setCurrent(column);
    (strip.current!.children[column] as HTMLElement).focus();
  };

  return (
    <section class="draw" aria-label={lab.draw}>
      <div class="draw-head">
        <h2>{lab.draw}</h2>
        <button
          type="button"
          data-testid="clear"
          onClick={() => draw(Array.from({ length: COLUMNS }, () => 0))}
        >
          {lab.clear}
        </button>
      </div>
      <div
        ref={strip}
        class="strip"
        data-testid="strip"
        role="group"
        aria-label={lab.draw}
        aria-describedby="draw-hint"
        onKeyDown={press}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          before.current = undefined;
          drag(event);
        }}
        onPointerMove={(event) => event.buttons === 1 && drag(event)}
      >
        {columns.map((count, column) => (
          <div
            key={column}
            role="slider"
            tabIndex={column === current ? 0 : -1}
            aria-orientation="vertical"
            aria-label={lab.column(column * width)}
            aria-valuemin={0}
            aria-valuemax={MOST_IN_COLUMN}
            aria-valuenow={count}
            onFocus={() => setCurrent(column)}
          >
            <span style={{ blockSize: `${(count / MOST_IN_COLUMN) * 100}%` }} />
          </div>
        ))}
      </div>
      <p id="draw-hint" class="hint">
        {lab.drawHint}
      </p>
    </section>
  );
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(most, value));
}
