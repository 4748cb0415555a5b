import { LinesChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, MarkAreaComponent } from 'echarts/components';
import { type EChartsType, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { memo } from 'preact/compat';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import {
  chartOf,
  clientsOf,
  type Dot,
  heightOf,
  PLOT,
  selectionOf,
} from '../../../src/side-by-side/chart.js';
import type { Scenario } from '../../../src/side-by-side/scenario.js';
import type { Run } from '../../../src/side-by-side/simulate.js';
import { useLook } from '../shell.js';
import { labelsOf } from './labels.js';

use([LineChart, LinesChart, ScatterChart, GridComponent, MarkAreaComponent, SVGRenderer]);

interface ChartProps {
  readonly run: Run;
  readonly scenario: Scenario;
  /** The index of the request that is marked. */
  readonly selected: number | undefined;
  onSelect(index: number): void;
  /** Gets what can say the picture as SVG. */
  onReady(toSvg: () => string): void;
}

/** A picture. It is drawn anew for another run, never for another time. */
export const Chart = memo(function Chart({ run, scenario, selected, onSelect, onReady }: ChartProps) {
  const { texts, palette, direction } = useLook();
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | undefined>(undefined);
  const height = heightOf(clientsOf(run));
  const option = useMemo(
    () => chartOf(run, scenario, { palette, direction, labels: labelsOf(texts, direction) }),
    [run, scenario, palette, direction, texts],
  );

  useEffect(() => {
    const drawn = init(box.current!, null, { renderer: 'svg' });
    chart.current = drawn;
    const observer = new ResizeObserver(() => drawn.resize());
    observer.observe(box.current!);
    onReady(() => drawn.renderToSVGString());
    return () => {
      observer.disconnect();
      drawn.dispose();
    };
  }, [onReady]);

  useEffect(() => {
    const drawn = chart.current!;
    drawn.off('click');
    drawn.on('click', ({ data }) => onSelect((data as Dot)[2]));
  }, [onSelect]);

  useEffect(() => {
    chart.current!.setOption(option, { notMerge: true });
  }, [option]);

  useEffect(() => {
    const request = selected === undefined ? undefined : run.requests[selected];
    chart.current!.setOption(selectionOf(request, palette));
  }, [option, run, selected, palette]);

  return <div ref={box} class="chart" dir="ltr" style={{ blockSize: `${height}px` }} aria-hidden="true" />;
});

/** Where the part lies that is still to come, beside the axes. */
export const VEIL = {
  start: (part: number) => `calc(${PLOT.start}px + (100% - ${PLOT.start + PLOT.end}px) * ${part})`,
  end: `${PLOT.end}px`,
};
