import { stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { BadOptionError } from '../bad-option.js';
import type { Place } from '../place.js';
import { RATE_ALGORITHMS, type RateAlgorithm } from '../policies.js';
import type { Progress } from '../progress.js';
import { MOST_CLIENTS } from './clients.js';
import { replayHtml } from './html.js';
import type { Fields } from './json-lines.js';
import { parseKey } from './key-option.js';
import { parsePolicies } from './policy-option.js';
import { type Replay, replay } from './replay.js';
import { replayTable } from './replay-table.js';
import { openSources, type Source } from './source.js';
import { suggest } from './suggest.js';
import { suggestionTable } from './suggest-table.js';

/** How the lab runs an experiment and prints what comes out. */
export type Perform = <Result>(
  options: { readonly json?: true },
  experiment: (place: Place, progress: Progress) => Promise<Result>,
  toTable: (result: Result) => string,
) => Promise<void>;

interface LogOptions {
  readonly key: string;
  readonly clients: string;
  readonly timeField?: string;
  readonly ipField?: string;
  readonly userField?: string;
  readonly pathField?: string;
  readonly json?: true;
}

interface ReplayCommandOptions extends LogOptions {
  readonly policy: readonly string[];
  readonly html?: string;
}

interface SuggestCommandOptions extends LogOptions {
  readonly algorithm: RateAlgorithm;
  readonly window: string;
  readonly refuse: string;
}

/** Adds the commands that read logs. */
export function addReplayCommands(lab: Command, perform: Perform): void {
  withLogOptions(lab.command('replay'))
    .description('what limits would have done to the requests of access logs')
    .requiredOption(
      '--policy <name=algorithm:limit/window>',
      'a limit to try out, such as api=token-bucket:100/1m:burst=20; may be repeated',
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option('--html <file>', 'write a report as one HTML page, too')
    .action(async (logs: string[], { policy, html, ...options }: ReplayCommandOptions) => {
      const policies = parsePolicies(policy);
      const asked = { ...readOptions(options), policies };
      const sources = await openSources(logs);
      if (html !== undefined) await requireRoom(html, sources);
      const experiment = async (place: Place, progress: Progress) => {
        const result = await replay(place, progress, sources, asked);
        if (html !== undefined) await writeFile(html, replayHtml(result));
        return result;
      };
      return perform<Replay>(options, experiment, replayTable);
    });
  withLogOptions(lab.command('suggest'))
    .description('the smallest limit that would have refused something to few clients of access logs')
    .addOption(
      new Option('--algorithm <algorithm>', 'how to count').choices(RATE_ALGORITHMS).default('token-bucket'),
    )
    .option('--window <duration>', 'in how long the limit is allowed', '1m')
    .option('--refuse <share>', 'how many of the clients may be refused something, at the most', '1%')
    .action(async (logs: string[], { algorithm, window, refuse, ...options }: SuggestCommandOptions) => {
      const asked = { ...readOptions(options), algorithm, window, refusePercent: parseShare(refuse) };
      const sources = await openSources(logs);
      return perform(options, (place, progress) => suggest(place, progress, sources, asked), suggestionTable);
    });
}

function withLogOptions(command: Command): Command {
  return command
    .argument('<log...>', 'access logs (common, combined or JSON lines, packed by gzip or not), or -')
    .option(
      '--key <key>',
      'who is counted: ip, user, path, a field of JSON lines, or several as in ip+path',
      'ip',
    )
    .option('--time-field <name>', 'in which field of JSON lines the time is')
    .option('--ip-field <name>', 'in which field of JSON lines the address is')
    .option('--user-field <name>', 'in which field of JSON lines the user is')
    .option('--path-field <name>', 'in which field of JSON lines the path is')
    .option('--clients <number>', 'how many clients are kept apart at the most', '250000')
    .addOption(new Option('--json', 'print one JSON document instead of a table'));
}

function readOptions({ key, clients, timeField, ipField, userField, pathField }: LogOptions) {
  const fields: Fields = { time: timeField, ip: ipField, user: userField, path: pathField };
  const mostClients = Number(clients);
  if (!/^\d+$/.test(clients) || mostClients < 1 || mostClients > MOST_CLIENTS) {
    throw new BadOptionError(`--clients ${clients}: it must be a whole number from 1 to ${MOST_CLIENTS}.`);
  }
  return { key: parseKey(key), fields, mostClients };
}

/** In percent. */
export function parseShare(text: string): number {
  const match = /^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(text.trim());
  const percent = Number(match?.[1] ?? NaN);
  if (percent < 100) return percent;
  throw new BadOptionError(`--refuse ${text}: it must be a share below 100 %, such as 1% or 0.5%.`);
}

/** Found before the log is read: an hour later would be late. */
async function requireRoom(html: string, sources: readonly Source[]): Promise<void> {
  const file = resolve(html);
  if (sources.some(({ name }) => name !== '-' && resolve(name) === file)) {
    throw new BadOptionError(`--html ${html} is the log itself. Name another file.`);
  }
  const folder = await stat(dirname(file)).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw new BadOptionError(`--html ${html}: there is no folder ${dirname(html)}. Make it first.`);
  }
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory() === true) {
    throw new BadOptionError(`--html ${html} is a folder. Name a file.`);
  }
}
