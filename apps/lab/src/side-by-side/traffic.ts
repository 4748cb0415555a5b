import { COLUMNS, type Preset, type Scenario, spanOf, WINDOWS } from './scenario.js';

/** One that comes by itself, whatever was answered before. */
export interface Arrival {
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Whose it is, from 0. */
  readonly client: number;
}

/** Where a preset's requests lie, in windows from the beginning. */
type Shape = (limit: number) => readonly { readonly client: number; readonly at: readonly number[] }[];

const SHAPES: Record<Preset, Shape> = {
  // As many as are allowed just before a window of the clock ends, and as many just after.
  edge: (limit) => [{ client: 0, at: [...spread(limit, 0.85, 0.998), ...spread(limit, 1.002, 1.15)] }],
  // A quarter more than is allowed, evenly.
  steady: (limit) => [{ client: 0, at: spread(Math.ceil(limit * 1.25) * WINDOWS, 0, WINDOWS) }],
  // Twice what is allowed in a short time, and again a window and a half later.
  burst: (limit) => [{ client: 0, at: [...spread(2 * limit, 0.25, 0.4), ...spread(2 * limit, 1.75, 1.9)] }],
  // One asks for half of what is allowed, all the time. The other comes later and wants three times too much.
  'noisy-neighbour': (limit) => [
    { client: 0, at: spread(Math.ceil(limit / 2) * WINDOWS, 0.07, WINDOWS) },
    { client: 1, at: spread(Math.ceil(limit * 4.5), 0.5, 2) },
  ],
  // Half more than is allowed in a short time: whoever is refused has a reason to come again.
  'retrying-client': (limit) => [{ client: 0, at: spread(Math.ceil(limit * 1.5), 0.3, 0.4) }],
};

/** What comes, in order. */
export function arrivals(scenario: Scenario): Arrival[] {
  const { traffic, limit, windowMs } = scenario;
  if (typeof traffic !== 'string') return drawn(traffic, spanOf(scenario));
  return SHAPES[traffic](limit)
    .flatMap(({ client, at }) => at.map((windows) => ({ at: Math.floor(windows * windowMs), client })))
    .toSorted((one, other) => one.at - other.at);
}

/** As a drawing that is nearest to it: what somebody changes who begins to draw. */
export function columnsOf(scenario: Scenario): number[] {
  if (typeof scenario.traffic !== 'string') return [...scenario.traffic];
  const columns = Array.from({ length: COLUMNS }, () => 0);
  const width = spanOf(scenario) / COLUMNS;
  for (const { at } of arrivals(scenario)) columns[Math.floor(at / width)]! += 1;
  return columns;
}

/** Those of a column come evenly. */
function drawn(columns: readonly number[], span: number): Arrival[] {
  const width = span / columns.length;
  return columns.flatMap((count, column) =>
    Array.from({ length: count }, (_, index) => ({
      at: Math.floor((column + index / count) * width),
      client: 0,
    })),
  );
}

/** So many, evenly in a time, its end left out. */
function spread(count: number, from: number, to: number): number[] {
  return Array.from({ length: count }, (_, index) => from + ((to - from) * index) / count);
}
