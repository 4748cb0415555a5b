import { barChart } from './bar-chart.js';
import { escapeHtml } from './escape.js';
import { notesOf } from './notes.js';
import type { PolicyOutcome } from './outcome.js';
import type { Replay } from './replay.js';
import { CLOSENESS, summary } from './replay-table.js';
import { amount, share } from './show.js';
import { showLength, showTime } from './time.js';

/** Colours as in the lab's pictures, light and dark. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; --came: #afb8c1; --refused: #cf222e; --near: #0969da }
@media (prefers-color-scheme: dark) {
:root { --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --came: #3d444d; --refused: #f85149; --near: #4493f8 }
}
body { font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin: 2.5rem 0 0.25rem } h3 { font-size: 1rem; margin: 1.25rem 0 0.25rem }
code, td:first-child { overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid var(--line) }
.soft { color: var(--soft) } svg { width: 100%; height: auto; display: block }
svg text { font-size: 12px; fill: var(--soft) } .came { fill: var(--came) } .refused { fill: var(--refused) } .near { fill: var(--near) } .frame { fill: none; stroke: var(--line) }
`;

/** One page with everything in it. The policy in its head forbids it to load anything, also by what a client was called. */
export function replayHtml(result: Replay): string {
  const notes = notesOf(result).map((note) => `<li>${escapeHtml(note)}</li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>What limits would have done</title>
<style>${STYLE}</style>
</head>
<body>
<h1>What limits would have done</h1>
<p>${escapeHtml(summary(result))}</p>
<p class="soft">${escapeHtml(result.logs.join(', '))}. Run on ${escapeHtml(result.runOn.server)}, Node ${escapeHtml(result.runOn.node)}.</p>
${overview(result)}
${notes.length === 0 ? '' : `<ul class="soft">\n${notes.join('\n')}\n</ul>`}
${result.policies.map((policy, index) => section(result, policy, index)).join('\n')}
</body>
</html>
`;
}

function overview({ policies, requests, clients }: Replay): string {
  return rows(
    ['policy', 'limit', 'requests refused', 'clients refused'],
    policies.map(({ name, written, requestsRefused, clientsRefused }) => [
      name,
      written,
      share(requestsRefused, requests),
      share(clientsRefused, clients),
    ]),
  );
}

function section(result: Replay, policy: PolicyOutcome, index: number): string {
  const { name, written, closeness, refusedMost } = policy;
  const shares = Object.entries(CLOSENESS).map(([which, says]) => {
    const used = closeness[which as keyof typeof CLOSENESS];
    return `<tr><td>${says}</td><td>${Math.round(used * 100)} %</td><td>${shareBar(used)}</td></tr>`;
  });
  const most = refusedMost.map(({ client, refused, requests }) => [
    client,
    amount(refused),
    amount(requests),
  ]);
  return `<h2>${escapeHtml(name)} <code class="soft">${escapeHtml(written)}</code></h2>
<p>${escapeHtml(whenRefused(policy))}</p>
<h3>Over time, ${showLength(result.barMs)} a bar</h3>
${barChart(result.bars, index, `Requests and those that ${name} refuses, over time`)}
<h3>How close clients come</h3>
<table>${shares.join('')}</table>
${most.length === 0 ? '' : `<h3>Refused most</h3>\n${rows(['client', 'refused', 'requests'], most)}`}`;
}

function whenRefused({ firstRefusal, lastRefusal, worstMinute, longestWaitMs }: PolicyOutcome): string {
  const waits = longestWaitMs > 0 ? ` A request waits for its turn up to ${showLength(longestWaitMs)}.` : '';
  if (firstRefusal === undefined || worstMinute === undefined) return `It refuses nothing.${waits}`;
  return (
    `It first refuses at ${showTime(firstRefusal)} and last at ${showTime(lastRefusal!)}. Its worst minute begins at ` +
    `${showTime(worstMinute.at)}: ${amount(worstMinute.refused)} refused.${waits}`
  );
}

function shareBar(used: number): string {
  const width = Math.min(1, used) * 200;
  const style = used >= 1 ? 'refused' : 'near';
  return `<svg viewBox="0 0 200 12" style="width:200px" aria-hidden="true"><rect class="${style}" width="${width}" height="12"/><rect class="frame" width="200" height="12"/></svg>`;
}

function rows(header: readonly string[], cells: readonly (readonly string[])[]): string {
  return `<table>\n${[row('th', header), ...cells.map((texts) => row('td', texts))].join('\n')}\n</table>`;
}

function row(tag: 'th' | 'td', texts: readonly string[]): string {
  return `<tr>${texts.map((text) => `<${tag}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`;
}
