import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { openMemory } from '../place.js';
import { run } from '../program.js';
import { silentProgress } from '../progress.js';
import { type Adaptation, adaptive, adaptiveTable, type Stretch } from './adaptive.js';

describe('adaptive', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('finds the capacity, follows it down and comes back, and the backend is never idle', async () => {
    let out = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += text), true));
    expect(await run(['adaptive', '--json'])).toBe(0);
    const { stretches } = JSON.parse(out) as Adaptation;
    const end = (seconds: number) => stretches.find(({ to }) => to === seconds)!;
    const [whole, half, again] = [end(60), end(100), end(150)] as [Stretch, Stretch, Stretch];
    for (const { limit, latencyMs } of [whole, again]) {
      expect(limit).toBeGreaterThanOrEqual(20);
      expect(limit).toBeLessThanOrEqual(40);
      expect(latencyMs).toBeLessThan(100);
    }
    expect(half.limit).toBeGreaterThanOrEqual(10);
    expect(half.limit).toBeLessThanOrEqual(22);
    expect(Math.abs(again.limit - whole.limit)).toBeLessThanOrEqual(5);
    // It is found within half a minute, and lost and found again within twenty seconds.
    const done = [30, 60, 80, 100, 110, 150].map((seconds) => end(seconds).donePerSecond);
    // Twenty at once of 50 ms each are 400 a second.
    expect(done.map((each) => Math.round(each / 20) * 20)).toEqual([400, 400, 200, 200, 400, 400]);
    expect(end(80).latencyMs).toBeLessThan(110);
  });

  it('is the same every time, and a table', async () => {
    const phases = [{ seconds: 10, capacity: 20 }];
    const [one, other] = [
      await adaptive(openMemory(), silentProgress, phases),
      await adaptive(openMemory(), silentProgress, phases),
    ];
    expect(one).toEqual(other);
    const lines = adaptiveTable(one).split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[3]).toMatch(/^\| 5 to 10 +\| 20 +\| 9 +\| #{9} +\| 50 ms /);
    expect(lines.at(-1)).toBe(`Run on memory, Node ${process.version}.`);
  });
});
