import { LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { type EChartsType, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'preact/hooks';
import { useLook } from '../shell.js';
import { type Moment, SECONDS } from './history.js';

use([LineChart, GridComponent, SVGRenderer]);

/** Decisions in each of the last seconds: what passed, and what did not. */
export function RateChart({ history }: { readonly history: readonly Moment[] }) {
  const { texts, palette, direction } = useLook();
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | undefined>(undefined);
  const last = history.at(-1);

  useEffect(() => {
    const drawn = init(box.current!, null, { renderer: 'svg' });
    chart.current = drawn;
    const observer = new ResizeObserver(() => drawn.resize());
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      drawn.dispose();
    };
  }, []);

  useEffect(() => {
    const end = last?.at ?? 0;
    const isRtl = direction === 'rtl';
    const line = (name: 'allowed' | 'refused', type: 'solid' | number[]) => ({
      type: 'line' as const,
      name: texts.lab[name],
      showSymbol: false,
      lineStyle: { color: palette[name], width: 2, type },
      areaStyle: { color: palette[name], opacity: 0.12 },
      data: history.map((moment) => [Math.round((moment.at - end) / 1_000), moment[name]]),
    });
    chart.current!.setOption(
      {
        animation: false,
        textStyle: { color: palette.quiet },
        grid: { left: isRtl ? 12 : 40, right: isRtl ? 40 : 12, top: 10, bottom: 24 },
        xAxis: {
          type: 'value',
          min: -SECONDS,
          max: 0,
          interval: SECONDS / 4,
          inverse: isRtl,
          axisLabel: {
            color: palette.quiet,
            formatter: (seconds: number) => texts.live.ago(-seconds),
          },
          splitLine: { show: false },
        },
        yAxis: {
          type: 'value',
          minInterval: 1,
          axisLine: { onZero: false },
          position: isRtl ? 'right' : 'left',
          axisLabel: { color: palette.quiet },
          splitLine: { lineStyle: { color: palette.grid } },
        },
        series: [line('allowed', 'solid'), line('refused', [5, 3])],
      },
      { notMerge: true },
    );
  }, [history, last, texts, palette, direction]);

  return (
    <section class="panel wide" aria-label={texts.live.rate}>
      <h2>{texts.live.rate}</h2>
      <p data-testid="rate">
        <span class="allowed">{`${last?.allowed ?? 0} ${texts.lab.allowed}`}</span>{' '}
        <span class="refused">{`${last?.refused ?? 0} ${texts.lab.refused}`}</span>
      </p>
      <div ref={box} class="chart rate" dir="ltr" aria-hidden="true" />
    </section>
  );
}
