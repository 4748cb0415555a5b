/** Bars as SVG, written by hand: readable on light and dark pages, and by those who hear it. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  /** One of ours, in another colour. */
  readonly ours: boolean;
}

export interface Chart {
  readonly title: string;
  /** What is measured, and which way is better. */
  readonly says: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 900;
const LEFT = 430;
const RIGHT = 100;
const TOP = 80;
const STEP = 26;

const STYLE = `text { font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; font-size: 13px; fill: #1f2328 }
.name { font-size: 18px; font-weight: 600 }
.says { fill: #59636e }
.paper { fill: #ffffff }
.bar { fill: #818b98 }
.ours { fill: #0969da }
.axis { stroke: #818b98 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.says { fill: #9198a1 }
.paper { fill: #0d1117 }
.bar { fill: #656c76 }
.ours { fill: #4493f8 }
.axis { stroke: #7d8590 }
}`;

export function barChart({ title, says, bars }: Chart): string {
  const height = TOP + bars.length * STEP + 14;
  const most = Math.max(...bars.map(({ value }) => value));
  const scale = (WIDTH - LEFT - RIGHT) / (most || 1);
  const spoken = bars.map(({ label, text }) => `${label}: ${text}`).join('; ');
  const drawn = bars.flatMap(({ label, value, text, ours }, index) => {
    const y = TOP + index * STEP;
    const width = Math.max(1, value * scale);
    return [
      `<text x="${LEFT - 10}" y="${y + 14}" text-anchor="end">${escape(label)}</text>`,
      `<rect class="${ours ? 'ours' : 'bar'}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="18" rx="2"/>`,
      `<text x="${(LEFT + width + 8).toFixed(1)}" y="${y + 14}">${escape(text)}</text>`,
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escape(title)}</title>`,
    `<desc id="desc">${escape(says)}. ${escape(spoken)}</desc>`,
    `<style>\n${STYLE}\n</style>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>`,
    `<text class="name" x="24" y="34">${escape(title)}</text>`,
    `<text class="says" x="24" y="56">${escape(says)}</text>`,
    ...drawn,
    `<path class="axis" d="M${LEFT} ${TOP - 6}V${height - 12}"/>`,
    '</svg>',
  ].join('\n')}\n`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
