import type { EChartsOption, SeriesOption } from 'echarts';
import type { Palette } from './palette.js';
import type { Request, Run } from './simulate.js';
import { type Scenario, spanOf } from './scenario.js';

/** The words in a picture. */
export interface ChartLabels {
  /** A time on the axis. */
  seconds(ms: number): string;
  readonly used: string;
  readonly reached: string;
  client(index: number): string;
  worstSecond(count: number): string;
}

export interface ChartLook {
  readonly palette: Palette;
  readonly labels: ChartLabels;
  /** In which direction time goes. */
  readonly direction: 'ltr' | 'rtl';
}

/** Where the axes lie, in pixels: whoever lays something over a picture has to know. */
export const PLOT = { start: 76, end: 14, top: 24, levelHeight: 92, laneHeight: 34, bottom: 26 } as const;
const GAP = 12;
/** Requests that come together are put in so many rows of their lane, so that each is seen. */
const ROWS = 5;
const ROW = 0.15;

/** The series that are for requests. What is selected in one is a point of it. */
const OUTCOMES = [
  { outcome: 'allowed', symbol: 'circle', size: 7 },
  { outcome: 'waiting', symbol: 'diamond', size: 9 },
  { outcome: 'refused', symbol: 'path://M0,0L8,8M8,0L0,8', size: 7 },
] as const satisfies readonly { readonly outcome: Request['outcome']; symbol: string; size: number }[];

/** A dot: when, how high, and which request of the run. */
export type Dot = readonly [at: number, height: number, index: number];

export function heightOf(clients: number): number {
  return PLOT.top + PLOT.levelHeight + GAP + lanesHeight(clients) + PLOT.bottom;
}

/** How many clients there are, each with a lane. */
export function clientsOf({ requests }: Run): number {
  return Math.max(0, ...requests.map(({ client }) => client)) + 1;
}

/**
 * A picture of a run: the level against the capacity, below it each client's requests, and below those what reaches the
 * application.
 */
export function chartOf(run: Run, scenario: Scenario, look: ChartLook): EChartsOption {
  const { palette, labels, direction } = look;
  const span = spanOf(scenario);
  const clients = clientsOf(run);
  const sides =
    direction === 'rtl' ? { left: PLOT.end, right: PLOT.start } : { left: PLOT.start, right: PLOT.end };
  const lanesTop = PLOT.top + PLOT.levelHeight + GAP;
  const time = {
    type: 'value' as const,
    min: 0,
    max: span,
    interval: scenario.windowMs / 2,
    inverse: direction === 'rtl',
    axisLine: { lineStyle: { color: palette.axis } },
    axisTick: { lineStyle: { color: palette.axis } },
    splitLine: { lineStyle: { color: palette.grid, type: [2, 3] } },
    axisLabel: { color: palette.quiet, formatter: labels.seconds },
  };
  const side = {
    position: direction === 'rtl' ? ('right' as const) : ('left' as const),
    axisLine: { show: false },
    axisTick: { show: false },
  };
  return {
    animation: false,
    backgroundColor: palette.paper,
    textStyle: { fontFamily: "system-ui, -apple-system, 'Segoe UI', sans-serif", color: palette.quiet },
    grid: [
      { ...sides, top: PLOT.top, height: PLOT.levelHeight },
      { ...sides, top: lanesTop, height: lanesHeight(clients) },
    ],
    xAxis: [
      { ...time, gridIndex: 0, axisLabel: { show: false }, axisTick: { show: false } },
      { ...time, gridIndex: 1 },
    ],
    yAxis: [
      {
        ...side,
        type: 'value',
        gridIndex: 0,
        min: 0,
        max: run.capacity,
        interval: run.capacity,
        splitLine: { lineStyle: { color: palette.axis, type: [6, 4] } },
        axisLabel: { color: palette.quiet, formatter: (value: number) => `${value}` },
      },
      {
        ...side,
        type: 'value',
        gridIndex: 1,
        // The application is at 0, and the clients above it, from 1.
        min: -0.5,
        max: clients + 0.5,
        axisLabel: {
          color: palette.quiet,
          fontSize: 11,
          width: PLOT.start - 14,
          overflow: 'truncate',
          customValues: Array.from({ length: clients + 1 }, (_, lane) => lane),
          formatter: (lane: number) => (lane === 0 ? labels.reached : labels.client(lane - 1)),
        },
        splitLine: { show: false },
      },
    ],
    series: [...levelSeries(run, span, look), ...dotSeries(run, look)],
  };
}

function lanesHeight(clients: number): number {
  return PLOT.laneHeight * (clients + 1);
}

function levelSeries(run: Run, span: number, { palette, labels }: ChartLook): SeriesOption[] {
  const { from, to, count } = run.worstSecond;
  const worst = {
    silent: true,
    itemStyle: { color: palette.waiting, opacity: 0.16 },
    label: { color: palette.text, position: 'top' as const, fontSize: 11 },
    data: [[{ xAxis: from, name: labels.worstSecond(count) }, { xAxis: Math.min(to, span) }]],
  };
  return [...run.levels.values()].map((levels, index) => ({
    type: 'line',
    name: labels.used,
    step: 'end',
    showSymbol: false,
    silent: true,
    lineStyle: { color: palette.level, width: 1.5, type: index === 0 ? 'solid' : [4, 3] },
    areaStyle: { color: palette.level, opacity: index === 0 ? 0.14 : 0.06 },
    data: [...levels.map(({ at, used }) => [at, used]), [span, levels.at(-1)?.used ?? 0]],
    ...(index === 0 && count > 0 && { markArea: worst }),
  })) as SeriesOption[];
}

function dotSeries(run: Run, { palette }: ChartLook): SeriesOption[] {
  const below = { xAxisIndex: 1, yAxisIndex: 1 };
  const dots = OUTCOMES.map(({ outcome, symbol, size }) => ({
    type: 'scatter' as const,
    id: outcome,
    ...below,
    symbol,
    symbolSize: size,
    itemStyle:
      outcome === 'refused'
        ? { color: 'transparent', borderColor: palette.refused, borderWidth: 1.5 }
        : { color: palette[outcome] },
    data: dotsOf(run, outcome) as unknown as number[][],
  }));
  const reached = run.requests.flatMap(({ reachesAt }) => (reachesAt === undefined ? [] : [[reachesAt, 0]]));
  const waits = run.requests.flatMap((request) =>
    request.outcome === 'waiting'
      ? [{ coords: [placeOf(request) as unknown as number[], [request.reachesAt!, 0]] }]
      : [],
  );
  return [
    {
      type: 'lines',
      coordinateSystem: 'cartesian2d',
      ...below,
      silent: true,
      lineStyle: { color: palette.waiting, width: 1, opacity: 0.55 },
      data: waits,
    },
    {
      type: 'scatter',
      id: 'reached',
      ...below,
      silent: true,
      symbol: 'rect',
      symbolSize: [1.5, 11],
      itemStyle: { color: palette.text },
      data: reached,
    },
    ...dots,
    // Last, so that it is above the others: where the selected request is (see selectionOf).
    { type: 'scatter', id: 'selected', ...below, silent: true, data: [] },
  ];
}

/** The dots of one outcome, with the indices of their requests. */
export function dotsOf({ requests }: Run, outcome: Request['outcome']): Dot[] {
  return requests.flatMap((request, index) =>
    request.outcome === outcome ? [[...placeOf(request), index] as const] : [],
  );
}

function placeOf({ at, client, arrival }: Request): readonly [at: number, height: number] {
  return [at, client + 1 + ((arrival % ROWS) - (ROWS - 1) / 2) * ROW];
}

/** A change of the picture that marks one request, or none. */
export function selectionOf(request: Request | undefined, { text }: Palette): EChartsOption {
  return {
    series: [
      {
        id: 'selected',
        type: 'scatter',
        symbol: 'circle',
        symbolSize: 15,
        itemStyle: { color: 'transparent', borderColor: text, borderWidth: 2 },
        data: request === undefined ? [] : [placeOf(request) as unknown as number[]],
      },
    ],
  };
}
