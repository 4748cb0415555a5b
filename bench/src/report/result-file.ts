import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GROUPS } from '../groups/index.js';
import { writePretty } from './pretty.js';
import type { BenchResult, GroupResult } from './result.js';

const FILE = join(import.meta.dirname, '../../results/latest.json');

export async function readResult(): Promise<BenchResult> {
  const text = await readFile(FILE, 'utf8').catch(() => undefined);
  return text === undefined ? { shape: 1, groups: {} } : (JSON.parse(text) as BenchResult);
}

/** Puts the groups that were measured in the place of what they were before, and leaves the others. */
export async function saveGroups(measured: Readonly<Record<string, GroupResult>>): Promise<void> {
  const known = { ...(await readResult()).groups, ...measured };
  const inOrder = Object.keys(GROUPS).flatMap((name) => (known[name] ? [[name, known[name]] as const] : []));
  const result: BenchResult = { shape: 1, groups: Object.fromEntries(inOrder) };
  await mkdir(dirname(FILE), { recursive: true });
  await writePretty(FILE, JSON.stringify(result, rounded, 2));
}

/** Six digits: more is noise, and hides what is not. */
function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
