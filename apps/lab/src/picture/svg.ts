import { drawApplication, drawHeld, drawLevel, drawRequests } from './bands.js';
import { BANDS, HEIGHT, LEFT, px, RIGHT, scale, WIDTH } from './layout.js';
import { legend } from './legend.js';
import type { Observation } from './observe.js';
import type { Scene } from './scenes.js';
import { STYLE } from './style.js';

const AXIS = BANDS.application.bottom + 12;

/** A scene and what was decided in it, as the text of an SVG file. */
export function toSvg(scene: Scene, seen: Observation): string {
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${scene.algorithm}: ${scene.says}</title>`,
    `<desc id="desc">${describe(scene, seen)}</desc>`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>`,
    `<text class="name" x="24" y="34">${scene.algorithm}</text>`,
    `<text class="says" x="24" y="56">${scene.says}</text>`,
    ...legend(scene, seen),
    ...drawAxis(scene),
    ...drawEdges(scene),
    ...drawLevel(scene, seen),
    ...(scene.holds === undefined ? drawApplication(scene, seen) : drawHeld(scene, seen)),
    // Last, so that no line of one that waits covers a request.
    ...drawRequests(scene, seen),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function drawAxis({ axis }: Scene): string[] {
  const x = scale(axis);
  const ticks: string[] = [];
  for (let at = axis.from; at <= axis.to; at += axis.tick) {
    ticks.push(
      `<path class="tick" d="M${px(x(at))} ${AXIS}v5"/>`,
      `<text class="label" text-anchor="middle" x="${px(x(at))}" y="${AXIS + 19}">${at / axis.unit}</text>`,
    );
  }
  return [
    `<path class="axis" d="M${LEFT} ${AXIS}H${RIGHT}"/>`,
    ...ticks,
    `<text class="label" x="24" y="${AXIS + 19}">${axis.name}</text>`,
  ];
}

function drawEdges({ axis, edges }: Scene): string[] {
  const x = scale(axis);
  return edges.flatMap(({ at, label }) => [
    `<path class="edge" d="M${px(x(at))} ${BANDS.top}V${AXIS}"/>`,
    ...(label === undefined
      ? []
      : [`<text class="label" x="${px(x(at) + 6)}" y="${BANDS.top + 8}">${label}</text>`]),
  ]);
}

/** The picture in words, for those who do not see it. */
function describe({ limit, axis, holds }: Scene, { requests, levels, held }: Observation): string {
  const allowed = requests.filter((request) => request.allowed);
  const waited = allowed.filter(({ at, reachesAt }) => reachesAt > at);
  const longest = Math.max(0, ...waited.map(({ at, reachesAt }) => reachesAt - at));
  const said = [
    `Of ${requests.length} requests between ${axis.from / axis.unit} and ${axis.to / axis.unit} ${axis.name}, ` +
      `${allowed.length} are allowed and ${requests.length - allowed.length} refused.`,
    `The level rises to ${Math.max(...levels.map(({ used }) => used))} of ${limit}.`,
  ];
  if (waited.length > 0) said.push(`${waited.length} wait for their turn, at most ${longest} milliseconds.`);
  if (holds !== undefined)
    said.push(`${held.filter(({ died }) => died).length} never give their place back, and their lease ends.`);
  return said.join(' ');
}
