import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LocalValkey } from '../../../tools/local-valkey.js';
import type { Environment } from './result.js';

const PACKAGES = [
  '@nestjs/core',
  'fastify',
  'express',
  'iovalkey',
  '@nestjs/throttler',
  '@nest-lab/throttler-storage-redis',
  '@fastify/rate-limit',
  'rate-limiter-flexible',
  'express-rate-limit',
  'rate-limit-redis',
  'ioredis',
  'redis',
  'autocannon',
];

export async function environment({ name, version }: LocalValkey): Promise<Environment> {
  const cores = cpus();
  const versions = await Promise.all(PACKAGES.map(async (each) => [each, await versionOf(each)] as const));
  return {
    node: process.versions.node,
    valkey: `${name} ${version}`,
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    commit: await commit(),
    packages: Object.fromEntries(versions),
  };
}

/** Many packages do not export their package.json. */
async function versionOf(name: string): Promise<string> {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  for (const folder of folders) {
    const text = await readFile(join(folder, name, 'package.json'), 'utf8').catch(() => undefined);
    if (text !== undefined) return (JSON.parse(text) as { version: string }).version;
  }
  return 'unknown';
}

async function commit(): Promise<string> {
  try {
    const changed = await git('status', '--porcelain', '--untracked-files=no', '--', ':/libs');
    return (await git('rev-parse', '--short', 'HEAD')) + (changed === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: import.meta.dirname });
  return stdout.trim();
}
