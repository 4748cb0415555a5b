import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { openMemory, openValkey, type Place } from '../place.js';
import { ALGORITHMS } from '../policies.js';
import { rows } from './layout.js';
import { observe } from './observe.js';
import { scenes } from './scenes.js';
import { toSvg } from './svg.js';

const FOLDER = new URL('../../../../docs/pictures/', import.meta.url);

describe('the committed pictures', () => {
  it('are one for each algorithm', async () => {
    expect(scenes.map(({ algorithm }) => algorithm).toSorted()).toEqual(ALGORITHMS.toSorted());
    expect(await readdir(FOLDER)).toEqual(ALGORITHMS.map((name) => `${name}.svg`).toSorted());
  });

  it.each(scenes)('$algorithm.svg is what the lab makes', async (scene) => {
    const committed = await readFile(new URL(`${scene.algorithm}.svg`, FOLDER), 'utf8');
    const made = toSvg(scene, await observe(openMemory(), scene));
    // Not toBe: the difference of two pictures would fill the screen.
    if (made !== committed) {
      throw new Error('It is out of date. Run "npm run lab -- picture --out docs/pictures" and look at it.');
    }
  });

  it.each(scenes)('$algorithm is decided in Valkey as in memory', async (scene) => {
    const place: Place = await openValkey(process.env['TEST_VALKEY_URL']);
    try {
      expect(await observe(place, scene)).toEqual(await observe(openMemory(), scene));
    } finally {
      await place.close();
    }
  });
});

describe('rows', () => {
  it('puts a dot above those that it would cover', () => {
    expect(rows([])).toEqual([]);
    expect(rows([0, 1, 2, 20])).toEqual([0, 1, 2, 0]);
    expect(rows([0, 4, 8, 12])).toEqual([0, 1, 0, 1]);
  });
});
