import { isDeepStrictEqual } from 'node:util';
import { decidesDuring, inFault, kindOf, promised, quantile } from './answers.js';
import type { Course } from './course.js';
import { heldDuring } from './held.js';
import { RATE, routes, type Sent } from './load.js';
import { BURST, DEADLINE_MS, decidesFor, LIMIT } from './scenario.js';

/** What an answer may take beyond the usual deadline. */
const BEYOND_DEADLINE_MS = 20;
/** A request is with the application by then, unless the machine is busy. */
const RECEIVED_WITHIN_MS = 5;
/** A replica has what was counted this long before its primary was lost. */
const COPIED_WITHIN_MS = 500;
/** Somebody asks every 20 ms, and waits for the deadline. */
const NOTICED_WITHIN_MS = 200;
const RECOVERED_WITHIN_MS = 1_000;
const ENDED_WITHIN_MS = 1_000;
const MOST_HEAP_GROWTH = 2 * 1024 * 1024;
/** What was used locally is charged to Valkey beside the requests, soon after it is back. */
const CHARGED_WITHIN_MS = 200;
/** How much of what is due in a fault is sent at the least: timers are late now and then. */
const SENT_OF_DUE = 0.8;
/** Settings of the client that nobody has made, and nobody can change. */
const CLIENT_SETTING = /maxRetriesPerRequest|enableOfflineQueue/;

/** Those that a machine which is busy does not break. */
const always = [inTime, burst, heap];
/** Those that it can: where nobody gets to an answer, its deadline is missed, which is an outage more. */
const inGoodTime = [answered, spared, admitted, freshLimits, stillRefused, recovered, log, ended];

/** Which promises were broken, in words: none, if all is well. */
export function brokenPromises(course: Course): string[] {
  return [...always, ...inGoodTime].flatMap((check) => check(course));
}

/** Whether the machine may be to blame: it was busy with something else for as long as an answer may be late. */
export function isExcused(courses: readonly Course[]): boolean {
  const isHeld = courses.some(({ held, sent }) =>
    sent.some(({ at, ms }) => heldDuring(held, at, at + ms) > BEYOND_DEADLINE_MS),
  );
  return isHeld && courses.every((course) => always.every((check) => check(course).length === 0));
}

function answered(course: Course): string[] {
  return course.sent.flatMap((sent) => {
    const decides = decidesDuring(course, sent);
    const allowed = promised[sent.route][decides];
    const kind = kindOf(sent);
    if (allowed.includes(kind) || (kind === 'denied' && isRemembered(course, sent))) return [];
    const after = Math.round(sent.at - course.moments.harming);
    const who = `/${sent.route} of ${sent.client}, ${after} ms after the harm`;
    return [`${who}, while Valkey decides ${decides}: ${kind}, and not ${allowed.join(' or ')}`];
  });
}

/** Who was refused before the harm is refused without asking Valkey, until somebody has asked it and had no answer. */
function isRemembered({ moments, sent }: Course, { at, route, client }: Sent): boolean {
  if (at > moments.harmed + NOTICED_WITHIN_MS) return false;
  return sent.some((one) => {
    const isSame = one.route === route && one.client === client;
    return isSame && one.at < moments.harmed && kindOf(one) === 'denied';
  });
}

/** Where only some are harmed, both kinds have asked. */
function spared(course: Course): string[] {
  const { spares } = course.scenario;
  if (spares === undefined) return [];
  const are = new Set(inFault(course).map(({ client }) => spares(client)));
  return unless(are.size === 2, 'those who are harmed and those who are not were not both heard');
}

function inTime(course: Course): string[] {
  const sent = inFault(course);
  const due = (course.scenario.faultMs / 1_000) * RATE;
  const timed = sent.map((one) => ({ at: one.at, ms: one.ms - machineMs(course, one) }));
  const p99 = quantile(timed, 0.99);
  const slowest = timed.toSorted((a, b) => b.ms - a.ms).slice(0, 5);
  const when = slowest
    .map(({ ms, at }) => `${ms.toFixed(0)} ms after ${Math.round(at - course.moments.harming)} ms`)
    .join(', ');
  return [
    ...unless(sent.length >= SENT_OF_DUE * due, `only ${sent.length} of ${due} requests were sent`),
    ...unless(p99 <= DEADLINE_MS + BEYOND_DEADLINE_MS, `p99 in the fault is ${p99.toFixed(1)} ms: ${when}`),
  ];
}

/**
 * The machine's part in an answer that is late: until the application had the request, and from the deadline on. What it
 * was busy with in between made nobody wait any longer.
 */
function machineMs({ held }: Course, { at, ms }: Sent): number {
  if (ms <= DEADLINE_MS) return 0;
  return heldDuring(held, at, at + RECEIVED_WITHIN_MS) + heldDuring(held, at + DEADLINE_MS, at + ms);
}

/** Nobody has more than the limit from Valkey, and once more from this process if Valkey does not decide. */
function admitted({ scenario, sent }: Course): string[] {
  return [...byClient(sent)].flatMap(([, all]) => {
    const { route, client } = all[0]!;
    const isSpared = decidesFor(scenario, client) === 'everything';
    const isTwice = !isSpared && (scenario.forgets !== undefined || route === 'local');
    const most = isTwice ? 2 * LIMIT : LIMIT;
    const allowed = all.filter((one) => kindOf(one) === 'allowed').length;
    return unless(allowed <= most, `/${route} allowed ${allowed} to ${client}, not ${most}`);
  });
}

/** Who is new when all is over gets the limit, exactly. */
function freshLimits({ fresh }: Course): string[] {
  return routes.flatMap((route) => {
    const kinds = fresh.filter((sent) => sent.route === route).map(kindOf);
    const right = kinds.every((kind, index) => kind === (index < LIMIT ? 'allowed' : 'denied'));
    return unless(right, `/${route} told a new client ${kinds.join(', ')}`);
  });
}

/** Who was refused, by Valkey or in the fault by this process, has nothing left when all is over. */
function stillRefused(course: Course): string[] {
  const { scenario, sent, moments, recovered: back } = course;
  const forgotten = {
    everything: -Infinity,
    'the last': moments.harming - COPIED_WITHIN_MS,
    nothing: Infinity,
  };
  const from = forgotten[scenario.forgets ?? 'nothing'];
  const isForgotten = (one: Sent) =>
    decidesFor(scenario, one.client) !== 'everything' &&
    one.at >= from &&
    (one.at <= moments.harmed || isRemembered(course, one));
  return [...byClient(sent)].flatMap(([, all]) => {
    const refused = all.find((one) => kindOf(one) === 'denied' && !isForgotten(one));
    if (refused === undefined) return [];
    const begin = Math.max(refused.at, back + CHARGED_WITHIN_MS);
    const passed = all.filter(({ at }) => at > begin).find((one) => kindOf(one) !== 'denied');
    if (passed === undefined) return [];
    const after = Math.round(passed.at - back);
    return [
      `/${passed.route} lets ${passed.client} pass ${after} ms after the recovery: it had been refused`,
    ];
  });
}

function burst({ scenario, burst: outcomes }: Course): string[] {
  if (scenario.burst === undefined) return [];
  const { decisions, allowed } = BURST;
  const wanted = { 'allowed by valkey': allowed, 'denied by valkey': decisions - allowed };
  const right = isDeepStrictEqual({ ...outcomes }, wanted);
  return unless(right, `the burst was ${JSON.stringify(outcomes)}, not ${JSON.stringify(wanted)}`);
}

function recovered({ moments, recovered: back }: Course): string[] {
  const ms = back - moments.mended;
  return unless(ms < RECOVERED_WITHIN_MS, `Valkey decided again only after ${ms.toFixed(0)} ms`);
}

function heap({ heapGrowth }: Course): string[] {
  return unless(heapGrowth < MOST_HEAP_GROWTH, `the heap grew by ${heapGrowth} bytes in the fault`);
}

/** Where it counts, and one line each for the begin and the end of the outage, in words that an operator knows. */
function log({ scenario, lines, stderr }: Course): string[] {
  const begin = new RegExp(`^warn: The store does not decide.*${scenario.says?.source ?? ''}`);
  const end = /^log: The store decides again\. It had not for \d+\.\d s, in which \d+ decisions/;
  const outage = scenario.decides === 'everything' ? [] : [begin, end];
  const wanted = [/^log: Counting in /, ...outage];
  const isRight = (line: string, index: number) => wanted[index]?.test(line) && !CLIENT_SETTING.test(line);
  const right = lines.length === wanted.length && lines.every(isRight);
  return [
    ...unless(right, `it logged ${lines.join(' | ')}`),
    ...unless(stderr === '', `it printed ${stderr}`),
  ];
}

function ended({ ended: last, endedInFault }: Course): string[] {
  const ends = Object.entries({
    'when all was over': last,
    ...(endedInFault && { 'in the fault': endedInFault }),
  });
  return ends.flatMap(([when, { code, signal, ms }]) => {
    const right = code === 0 && ms < ENDED_WITHIN_MS;
    return unless(right, `${when} it ended with ${signal ?? code} after ${Math.round(ms)} ms`);
  });
}

function byClient(sent: readonly Sent[]): Map<string, Sent[]> {
  const clients = new Map<string, Sent[]>();
  for (const one of sent.toSorted((a, b) => a.at - b.at)) {
    const name = `${one.route} ${one.client}`;
    clients.set(name, [...(clients.get(name) ?? []), one]);
  }
  return clients;
}

function unless(right: boolean, problem: string): string[] {
  return right ? [] : [problem];
}
