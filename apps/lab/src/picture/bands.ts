import { BANDS, DOT, height, LEFT, px, RIGHT, rows, scale } from './layout.js';
import type { Observation } from './observe.js';
import type { Scene } from './scenes.js';

/** `limit - remaining` as steps, under the line of the limit. */
export function drawLevel({ axis, limit }: Scene, { levels }: Observation): string[] {
  const { top, bottom } = BANDS.level;
  const x = scale(axis);
  const y = (used: number) => px(bottom - (used / limit) * (bottom - top));
  const [first, ...rest] = levels;
  const steps = rest.map(({ at, used }) => `H${px(x(at))}V${y(used)}`).join('');
  const line = `M${LEFT} ${y(first?.used ?? 0)}${steps}H${RIGHT}`;
  return [
    ...bandName(BANDS.level, 'used', 'of the limit'),
    `<path class="grid" d="M${LEFT} ${bottom}H${RIGHT}"/>`,
    `<path class="limit" d="M${LEFT} ${top}H${RIGHT}"/>`,
    ...[0, limit].map(
      (used) =>
        `<text class="label" text-anchor="end" x="${LEFT - 8}" y="${Number(y(used)) + 4}">${used}</text>`,
    ),
    `<path class="fill" d="${line}V${bottom}H${LEFT}Z"/>`,
    `<path class="level" d="${line}"/>`,
  ];
}

/** Every request where it comes: a dot or a cross. */
export function drawRequests(scene: Scene, seen: Observation): string[] {
  const { bottom } = BANDS.requests;
  const dots = requestDots(scene, seen).map(({ x, y, allowed }) => (allowed ? dot(x, y) : cross(x, y)));
  return [...bandName(BANDS.requests, 'requests', 'that come'), baseline(bottom), ...dots];
}

/** The allowed ones where they go on, with a line from where they came if they waited. */
export function drawApplication(scene: Scene, seen: Observation): string[] {
  const { bottom } = BANDS.application;
  const x = scale(scene.axis);
  const came = requestDots(scene, seen).filter(({ allowed }) => allowed);
  const reached = came.map(({ reachesAt }) => reachesAt).toSorted((a, b) => a - b);
  const row = rows(reached.map(x));
  const waits = came
    .filter(({ at, reachesAt }) => reachesAt > at)
    .map((from) => {
      const to = height(bottom, row[reached.indexOf(from.reachesAt)]!);
      return `<path class="wait" d="M${px(from.x)} ${px(from.y)}L${px(x(from.reachesAt))} ${px(to)}"/>`;
    });
  const dots = reached.map((at, index) => dot(x(at), height(bottom, row[index]!)));
  return [...bandName(BANDS.application, 'reach the', 'application'), baseline(bottom), ...waits, ...dots];
}

/** Places and how long they are held, each in the first line that is free. */
export function drawHeld({ axis, limit }: Scene, { held }: Observation): string[] {
  const { top, bottom } = BANDS.application;
  const x = scale(axis);
  const pitch = (bottom - top) / limit;
  const freeFrom = Array.from({ length: limit }, () => -Infinity);
  const bars = held.map(({ from, to, died }) => {
    const line = freeFrom.findIndex((free) => free <= from);
    freeFrom[line] = to;
    const y = top + line * pitch + 3;
    const size = `width="${px(x(to) - x(from) - 2)}" height="${px(pitch - 6)}"`;
    return `<rect class="${died ? 'died' : 'held'}" x="${px(x(from))}" y="${px(y)}" ${size} rx="3"/>`;
  });
  return [...bandName(BANDS.application, 'places', 'that are held'), baseline(bottom), ...bars];
}

export function dot(x: number, y: number): string {
  return `<circle class="allowed" cx="${px(x)}" cy="${px(y)}" r="${DOT}"/>`;
}

export function cross(x: number, y: number): string {
  return `<path class="refused" d="M${px(x - 2.4)} ${px(y - 2.4)}l4.8 4.8m0-4.8l-4.8 4.8"/>`;
}

function requestDots({ axis }: Scene, { requests }: Observation) {
  const x = scale(axis);
  const xs = requests.map(({ at }) => x(at));
  const row = rows(xs);
  return requests.map((request, index) => {
    return { ...request, x: xs[index]!, y: height(BANDS.requests.bottom, row[index]!) };
  });
}

function baseline(y: number): string {
  return `<path class="grid" d="M${LEFT} ${y}H${RIGHT}"/>`;
}

function bandName({ top, bottom }: { top: number; bottom: number }, first: string, second: string): string[] {
  const middle = (top + bottom) / 2;
  return [
    `<text class="band" x="24" y="${middle - 2}">${first}</text>`,
    `<text class="band" x="24" y="${middle + 14}">${second}</text>`,
  ];
}
