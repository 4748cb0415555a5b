import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlgorithmName } from 'nestjs-valkey-rate-limit';
import { runOn, type Place, type RunOn } from '../place.js';
import type { Progress } from '../progress.js';
import { table } from '../table.js';
import { observe } from './observe.js';
import { outFolder } from './out-folder.js';
import { scenes } from './scenes.js';
import { toSvg } from './svg.js';

interface Picture {
  readonly algorithm: AlgorithmName;
  readonly file: string;
  readonly allowed: number;
  readonly requests: number;
}

export interface Pictures {
  readonly command: 'picture';
  readonly pictures: readonly Picture[];
  readonly runOn: RunOn;
}

/** Every scene as an SVG file in a folder. */
export async function drawAll(place: Place, progress: Progress, folder: string): Promise<Pictures> {
  await outFolder(folder);
  const pictures: Picture[] = [];
  for (const scene of scenes) {
    const { algorithm } = scene;
    progress.say(algorithm);
    const seen = await observe(place, scene);
    const file = join(folder, `${algorithm}.svg`);
    await writeFile(file, toSvg(scene, seen));
    const { length } = seen.requests.filter(({ allowed }) => allowed);
    pictures.push({ algorithm, file, allowed: length, requests: seen.requests.length });
  }
  return { command: 'picture', pictures, runOn: runOn(place) };
}

export function pictureTable({ pictures, runOn: ranOn }: Pictures): string {
  return table(
    ['picture', 'requests allowed'],
    pictures.map(({ file, allowed, requests }) => [file, `${allowed}/${requests}`]),
    ranOn,
  );
}
