import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../tools/until.js';
import { type AdapterName, adapters } from '../../support/adapters.js';
import { Application } from './application.js';
import type { Course, Moments } from './course.js';
import { Load, routes, send, type Sent, WORN } from './load.js';
import { brokenPromises, isExcused } from './promises.js';
import { DEADLINE_MS, LIMIT, type Scenario, type Victim } from './scenario.js';

const ATTEMPTS = 3;
const WARM_UP_MS = 1_000;
const AFTER_MS = 1_000;
/** How long requests get under way again after nothing was sent. */
const SETTLING_MS = 100;
/** How long is waited for what should come true much sooner. */
const PATIENCE_MS = 5_000;

/**
 * Runs one scenario on all adapters at once, beside a neighbour that is ended in the fault. Where the machine is so busy
 * that a deadline is missed while all is well, or that it is to blame for a broken promise, nothing is learned, and it
 * begins anew.
 */
export async function run(scenario: Scenario): Promise<Course[]> {
  let last: Course[] | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const courses = await runOnce(scenario);
    if (courses === undefined) continue;
    last = courses;
    if (courses.every((course) => brokenPromises(course).length === 0) || !isExcused(courses)) break;
  }
  if (last !== undefined) return last;
  throw new Error(`A healthy Valkey missed the deadline in ${ATTEMPTS} warm-ups: this machine is too busy.`);
}

async function runOnce(scenario: Scenario): Promise<Course[] | undefined> {
  const victim = await scenario.start();
  const started: Application[] = [];
  const loads: Load[] = [];
  const start = async (adapter: AdapterName, name: string) => {
    const { deadlineMs: deadline = DEADLINE_MS } = scenario;
    const options = { valkey: victim.valkey, deadline, prefix: `${adapter}:${name}:` };
    const application = new Application(adapter, options);
    started.push(application);
    await application.listening();
    return application;
  };
  try {
    if (scenario.atBoot) await victim.harm();
    const [neighbour, ...tried] = await Promise.all([
      start('fastify', 'neighbour'),
      ...adapters.map((adapter) => start(adapter, 'tried')),
    ]);
    return await new Run(scenario, victim, tried, neighbour, loads).courses();
  } finally {
    await Promise.all(started.map((application) => application.kill()));
    await Promise.all(loads.map((load) => load.stop()));
    await victim.stop();
  }
}

/** One scenario, from the first request to the last. */
class Run {
  readonly #moments: Moments = { harming: 0, harmed: 0, mending: 0, mended: 0 };

  constructor(
    private readonly scenario: Scenario,
    private readonly victim: Victim,
    private readonly tried: readonly Application[],
    private readonly neighbour: Application,
    /** Those that are begun here, for whoever has to end them. */
    private readonly loads: Load[],
  ) {}

  /** `undefined` where there was an outage before harm was done. */
  async courses(): Promise<Course[] | undefined> {
    const { scenario, tried, loads } = this;
    if (scenario.atBoot) this.#moments.harming = this.#moments.harmed = performance.now();
    const worn = scenario.atBoot ? tried.map(() => []) : await this.#each((one) => takeAll(one, WORN));
    loads.push(...tried.map((one) => new Load(one)));
    await sleep(WARM_UP_MS);
    const heapsBefore = await this.#aside((one) => one.heap());
    if (!scenario.atBoot) {
      if (tried.some((one) => one.lines.some((line) => line.startsWith('warn')))) return undefined;
      await this.#harm();
    }
    for (const load of loads) load.guest = 'late';
    await send(this.neighbour, 'local', 'anybody');
    await sleep(scenario.faultMs);
    const aside = await this.#aside(async (one, index) => ({
      burst: scenario.burst && (await one.burst()),
      endedInFault: index === 0 ? await this.neighbour.end() : undefined,
      heap: await one.heap(),
    }));
    const mending = performance.now();
    this.#moments.mending = (await this.victim.mend()) ?? mending;
    this.#moments.mended = performance.now();
    const recovered = await this.#each(decided);
    await sleep(AFTER_MS);
    if (scenario.decides !== 'everything') await this.#each(told);
    await Promise.all(loads.map((load) => load.stop()));
    const fresh = await this.#each((one) => takeAll(one, 'fresh'));
    const ended = await this.#each((one) => one.end());
    return tried.map(({ adapter, lines, stderr }, index) => ({
      scenario,
      adapter,
      moments: this.#moments,
      recovered: recovered[index]!,
      sent: [...worn[index]!, ...loads[index]!.sent],
      held: loads[index]!.held,
      fresh: fresh[index]!,
      heapGrowth: aside[index]!.heap - heapsBefore[index]!,
      burst: aside[index]!.burst,
      lines,
      stderr: index === 0 ? stderr + this.neighbour.stderr : stderr,
      ended: ended[index]!,
      endedInFault: aside[index]!.endedInFault,
    }));
  }

  /**
   * Does something to the applications while nothing is sent to them, as it takes the processor from them or stops
   * them: nobody should wait for that. Then lets requests get under way again.
   */
  async #aside<Result>(act: (application: Application, index: number) => Promise<Result>): Promise<Result[]> {
    const results = await this.#each((one, index) => this.loads[index]!.aside(() => act(one, index)));
    await sleep(SETTLING_MS);
    return results;
  }

  async #harm(): Promise<void> {
    this.#moments.harming = performance.now();
    await this.victim.harm();
    this.#moments.harmed = performance.now();
  }

  #each<Result>(ask: (application: Application, index: number) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.tried.map(ask));
  }
}

/** Asks for more than a client may take, on all routes at once. */
async function takeAll(application: Application, client: string): Promise<Sent[]> {
  const answers = routes.map(async (route) => {
    const sent: Sent[] = [];
    for (let count = 0; count < LIMIT + 2; count += 1) sent.push(await send(application, route, client));
    return sent;
  });
  return (await Promise.all(answers)).flat();
}

/** When Valkey has decided something, at the latest when patience ends. */
async function decided(application: Application): Promise<number> {
  await soon('Valkey decides', async () => (await application.store()) === 'valkey');
  return performance.now();
}

/** The line has been logged that ends an outage, which comes when the store has been quiet for a second. */
function told({ lines }: Application): Promise<void> {
  return soon('the end is told', () => lines.at(-1)!.startsWith('log: The store decides again'));
}

/** What does not come true is found among the broken promises, beside all else that can explain it. */
function soon(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  return until(what, check, PATIENCE_MS).catch(() => undefined);
}
