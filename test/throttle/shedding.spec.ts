import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { startProcess } from '../support/processes.js';
import { ownValkey } from '../support/valkey.js';

const SAMPLE = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));
/** Nobody is refused for coming too often: it is about a process that cannot do more. */
const ENV = { OFFICE_NETWORKS: '127.0.0.0/8' };
const LOGINS_A_SECOND = 10;
const MEASURED_MS = 20_000;
/** Until it has found out how much it can do. */
const SURGE_MS = 5_000;
const TIMES_CAPACITY = 3;
/** What else the machine does can only make it worse: the best round counts. */
const ROUNDS = 3;

interface Answer {
  readonly status: number;
  /** From the request until the end of the answer. */
  readonly ms: number;
}

const keepAlive = new Agent({ keepAlive: true });

async function ask(url: string, options: RequestOptions, body?: string): Promise<Answer> {
  const from = performance.now();
  const sent = request(url, options);
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode!, ms: performance.now() - from };
}

const LOGIN = JSON.stringify({ username: 'ada', password: 'analytical engine' });
let people = 0;

/** Critical: somebody with the right password, each from another place, as each place may only have a few under way. */
function logIn(url: string): Promise<Answer> {
  people += 1;
  const headers = { 'content-type': 'application/json', 'content-length': LOGIN.length };
  return ask(
    `${url}/login`,
    { method: 'POST', headers, localAddress: `127.0.1.${1 + (people % 250)}`, agent: false },
    LOGIN,
  );
}

/** Background: work of a few milliseconds. */
const look = (url: string) => ask(`${url}/products/kettle/bought-with`, { agent: keepAlive });

/** Asks so many times a second, whatever becomes of it, as clients do who know nothing of each other. */
async function come(perSecond: number, forMs: number, visit: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const from = performance.now();
  for (let passed = 0; passed < forMs; passed = performance.now() - from) {
    while (answers.length < (passed / 1_000) * perSecond) answers.push(visit());
    await sleep(2);
  }
  return Promise.all(answers);
}

/** How many that can wait it does in a second when it is asked for nothing else. */
async function capacityOf(url: string): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    let done = 0;
    const end = performance.now() + 500;
    const client = async () => {
      while (performance.now() < end) if ((await look(url)).status === 200) done += 1;
    };
    await Promise.all([client(), client()]);
    rounds.push(2 * done);
  }
  return Math.max(...rounds);
}

const p99 = (answers: readonly Answer[]) =>
  answers.map(({ ms }) => ms).toSorted((one, other) => one - other)[Math.ceil(0.99 * answers.length) - 1]!;
const shareOf = (status: number, answers: readonly Answer[]) =>
  answers.filter((answer) => answer.status === status).length / answers.length;

async function flood() {
  const { url: valkey } = await ownValkey();
  const { url } = await startProcess(SAMPLE, [], { ...ENV, VALKEY_URL: valkey });
  // What has not run often is slow.
  for (let count = 0; count < 300; count += 1) await look(url);
  for (let count = 0; count < 20; count += 1) await logIn(url);
  const calm = await come(LOGINS_A_SECOND, MEASURED_MS, () => logIn(url));
  const capacity = await capacityOf(url);
  const looking = come(TIMES_CAPACITY * capacity, SURGE_MS + MEASURED_MS, () => look(url));
  const surge = await come(LOGINS_A_SECOND, SURGE_MS, () => logIn(url));
  const loaded = await come(LOGINS_A_SECOND, MEASURED_MS, () => logIn(url));
  const background = await looking;
  return { capacity, calm, surge, loaded, background };
}

test('at three times its capacity the sample logs people in as ever, and refuses what can wait', async () => {
  const told: string[] = [];
  for (let count = 0; count < ROUNDS; count += 1) {
    const { capacity, calm, surge, loaded, background } = await flood();
    // These hold on any machine.
    expect(shareOf(200, calm)).toBe(1);
    expect(shareOf(200, [...surge, ...loaded])).toBeGreaterThanOrEqual(0.99);
    const refused = shareOf(503, background);
    expect(refused + shareOf(200, background)).toBe(1);
    expect(refused).toBeGreaterThan(0.5);
    const ratio = p99(loaded) / p99(calm);
    told.push(
      `${capacity} a second, ${(100 * refused).toFixed(0)} % refused, p99 ${p99(calm).toFixed(0)} and ${p99(loaded).toFixed(0)} ms`,
    );
    if (ratio <= 2) return;
  }
  throw new Error(`Critical requests took more than twice as long as unloaded:\n${told.join('\n')}`);
}, 300_000);
