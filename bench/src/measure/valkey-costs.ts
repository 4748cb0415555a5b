import { ask } from '../../../tools/ask-valkey.js';
import type { LocalValkey } from '../../../tools/local-valkey.js';

/** What the server has done since it began. */
export interface ValkeyCosts {
  /** Scripts that were called. */
  readonly scripts: number;
  /** All commands, also those that scripts call. */
  readonly commands: number;
  readonly cpuMicros: number;
}

const SCRIPT_CALLS = new Set(['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall']);
/** What asking costs is nobody's. */
const OURS = new Set(['info', 'client|setinfo', 'hello', 'auth', 'select']);

export async function valkeyCosts(valkey: LocalValkey): Promise<ValkeyCosts> {
  // Not all sections in one call: that works from Redis 7 only.
  const stats = String(await ask(valkey, 'INFO', 'commandstats'));
  const cpu = String(await ask(valkey, 'INFO', 'cpu'));
  let scripts = 0;
  let commands = 0;
  for (const [, name = '', calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (SCRIPT_CALLS.has(name)) scripts += Number(calls);
    if (!OURS.has(name)) commands += Number(calls);
  }
  const seconds = (field: string) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(cpu)?.[1]);
  const cpuMicros = (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
  return { scripts, commands, cpuMicros };
}

/** What the server did while the work ran. */
export async function whileRunning<Result>(
  valkey: LocalValkey,
  work: () => Promise<Result>,
): Promise<{ result: Result; spent: ValkeyCosts }> {
  const before = await valkeyCosts(valkey);
  const result = await work();
  const after = await valkeyCosts(valkey);
  return {
    result,
    spent: {
      scripts: after.scripts - before.scripts,
      commands: after.commands - before.commands,
      cpuMicros: after.cpuMicros - before.cpuMicros,
    },
  };
}
