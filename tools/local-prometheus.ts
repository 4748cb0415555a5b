import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPrometheus, type PrometheusCommand } from './prometheus-binary.js';
import { end, freePort, launch, type ServerProcess } from './server-process.js';

export interface LocalPrometheusOptions {
  /** Addresses of servers, such as `http://127.0.0.1:3000`, that are asked for `/metrics`. */
  readonly targets: readonly string[];
  /** How often they are asked, within which time they have to answer, and how often the rules are looked at. */
  readonly scrapeIntervalMs: number;
  /** Paths of files of rules. */
  readonly rules?: readonly string[];
  /** What it shows the targets. Left out: nothing. */
  readonly bearerToken?: string;
}

/** One series of an answer. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A rule that it has been given, and how it is with it. */
export interface Rule {
  readonly type: 'alerting' | 'recording';
  readonly name: string;
  readonly query: string;
  /** `unknown` until it was looked at for the first time. */
  readonly health: 'ok' | 'err' | 'unknown';
  /** Of an alerting rule. */
  readonly state?: 'inactive' | 'pending' | 'firing';
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface LocalPrometheus {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  readonly origin: string;
  /** Where it keeps what it has seen; its log is `output` in there. */
  readonly folder: string;
  /**
   * What an expression gives.
   *
   * @param at when, in milliseconds since 1970. Left out: now
   * @throws (rejects) with what Prometheus says of an expression that cannot be evaluated
   */
  query(expression: string, at?: number): Promise<Sample[]>;
  rules(): Promise<Rule[]>;
  /** Anything else of its HTTP API, such as `get('series', { 'match[]': 'up' })`: the `data` of its answer. */
  get<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>;
  /** Ends it. May be called again. */
  stop(): Promise<void>;
}

/** Where it listens and works. */
interface Place {
  readonly port: number;
  readonly folder: string;
}

const ADDRESS = '127.0.0.1';
const START_LIMIT_MS = 20_000;
const PORT_ATTEMPTS = 5;
const CONFIG = 'prometheus.yml';
const OUTPUT = 'output';
const READY = 'Server is ready to receive web requests.';

/** Starts a Prometheus of its own on the loopback, with an empty memory, and waits until it answers. It then needs five seconds to find its targets. */
export async function startPrometheus(options: LocalPrometheusOptions): Promise<LocalPrometheus> {
  const prometheus = await findPrometheus();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(prometheus, options);
    } catch (error) {
      // Between choosing a port and using it, somebody else may have taken it.
      const portTaken = (error as Error).message.includes('address already in use');
      if (!portTaken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startOnce(
  prometheus: PrometheusCommand,
  options: LocalPrometheusOptions,
): Promise<LocalPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'local-prometheus-'));
  const place = { port: await freePort(ADDRESS), folder };
  try {
    await writeFile(join(folder, CONFIG), configOf(options));
    const { command, env } = prometheus;
    const running = await launch(command, argsOf(place.port), { env, folder, output: join(folder, OUTPUT) });
    await ready(running, prometheus, place);
    return handle(running, prometheus, place);
  } catch (error) {
    await tidy(place);
    throw error;
  }
}

/** JSON is YAML. */
function configOf({ targets, scrapeIntervalMs, rules = [], bearerToken }: LocalPrometheusOptions): string {
  const interval = `${scrapeIntervalMs}ms`;
  return JSON.stringify(
    {
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      rule_files: rules,
      scrape_configs: [
        {
          job_name: 'test',
          static_configs: [{ targets: targets.map((target) => new URL(target).host) }],
          ...(bearerToken !== undefined && { authorization: { credentials: bearerToken } }),
        },
      ],
    },
    undefined,
    2,
  );
}

/** Every path is relative to its folder, so that it touches nothing of a Prometheus that is installed. */
function argsOf(port: number): string[] {
  return [
    `--config.file=${CONFIG}`,
    `--web.listen-address=${ADDRESS}:${port}`,
    '--storage.tsdb.path=data',
    '--web.console.templates=consoles',
    '--web.console.libraries=console_libraries',
  ];
}

async function ready(
  running: ServerProcess,
  { version, origin }: PrometheusCommand,
  { port, folder }: Place,
): Promise<void> {
  const read = (file: string) => readFile(join(folder, file), 'utf8');
  const deadline = Date.now() + START_LIMIT_MS;
  while (!running.hasExited() && Date.now() < deadline) {
    // Its own log must say so too: on a port that was snatched away, somebody else answers.
    if ((await read(OUTPUT)).includes(READY) && (await isReady(port))) return;
    await Promise.race([sleep(10), running.exited]);
  }
  const what = running.hasExited()
    ? `ended ${await running.exited} before it answered`
    : `did not answer within ${START_LIMIT_MS} ms`;
  await end(running, 'SIGKILL');
  throw new Error(`Prometheus ${version} (${origin}) ${what}.\n${await read(OUTPUT)}`);
}

function isReady(port: number): Promise<boolean> {
  return fetch(`http://${ADDRESS}:${port}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

function tidy({ folder }: Place): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}

function handle(
  running: ServerProcess,
  { version, origin }: PrometheusCommand,
  place: Place,
): LocalPrometheus {
  const url = `http://${ADDRESS}:${place.port}`;
  const get = <Data>(path: string, parameters = {}) => ask<Data>(`${url}/api/v1/${path}`, parameters);
  let stopped: Promise<void> | undefined;
  return {
    url,
    pid: running.child.pid!,
    version,
    origin,
    folder: place.folder,
    get,
    query: async (expression, at) => {
      const time = at === undefined ? {} : { time: String(at / 1_000) };
      return samplesOf(await get<QueryData>('query', { query: expression, ...time }));
    },
    rules: async () => {
      const { groups } = await get<{ groups: { rules: Rule[] }[] }>('rules');
      return groups.flatMap(({ rules }) => rules);
    },
    stop: () => (stopped ??= end(running, 'SIGTERM').then(() => tidy(place))),
  };
}

type Point = [seconds: number, value: string];
type QueryData =
  | { resultType: 'vector'; result: { metric: Record<string, string>; value: Point }[] }
  | { resultType: 'scalar'; result: Point };

function samplesOf(data: QueryData): Sample[] {
  if (data.resultType === 'scalar') return [{ labels: {}, value: toNumber(data.result) }];
  return data.result.map(({ metric, value }) => ({ labels: metric, value: toNumber(value) }));
}

function toNumber([, value]: Point): number {
  return Number(value.replace('Inf', 'Infinity'));
}

async function ask<Data>(url: string, parameters: Readonly<Record<string, string>>): Promise<Data> {
  const response = await fetch(`${url}?${new URLSearchParams(parameters).toString()}`);
  const answer = (await response.json()) as { status: string; error?: string; data: Data };
  if (answer.status !== 'success') throw new Error(`Prometheus: ${answer.error}`);
  return answer.data;
}
