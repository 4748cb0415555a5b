import { escapeHtml } from './escape.js';
import { amount, share } from './show.js';
import { showTime } from './time.js';
import type { Bar } from './timeline.js';

const WIDTH = 900;
const TOP = 16;
const BOTTOM = 176;
const HEIGHT = 200;

/** All requests, and in front of them those that a policy refuses. */
export function barChart(bars: readonly Bar[], policy: number, title: string): string {
  const highest = Math.max(1, ...bars.map(({ requests }) => requests));
  const pitch = WIDTH / Math.max(1, bars.length);
  const rect = (style: string, index: number, count: number) => {
    if (count === 0) return '';
    // What is not nothing can be seen.
    const height = Math.max(1, (count / highest) * (BOTTOM - TOP));
    const size = `width="${px(Math.max(1, pitch - 1))}" height="${px(height)}"`;
    return `<rect class="${style}" x="${px(index * pitch)}" y="${px(BOTTOM - height)}" ${size}/>`;
  };
  const drawn = bars.map(({ from, requests, refused }, index) => {
    const says = `${showTime(from)}: ${share(refused[policy]!, requests)} refused`;
    return `<g><title>${says}</title>${rect('came', index, requests)}${rect('refused', index, refused[policy]!)}</g>`;
  });
  const [first, last] = [bars[0], bars.at(-1)];
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">
<title>${escapeHtml(title)}</title>
<text x="0" y="11">${amount(highest)} requests</text>
<path class="frame" d="M0 ${TOP}H${WIDTH}M0 ${BOTTOM}H${WIDTH}"/>
${drawn.join('\n')}
<text x="0" y="${HEIGHT - 8}">${first === undefined ? '' : showTime(first.from)}</text>
<text x="${WIDTH}" y="${HEIGHT - 8}" text-anchor="end">${last === undefined ? '' : showTime(last.from)}</text>
</svg>`;
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
