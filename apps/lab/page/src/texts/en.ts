import type { CountedKey, Preset, Retries, ShownAlgorithm } from '../../../src/side-by-side/scenario.js';

const number = new Intl.NumberFormat('en');

/** `1 request`, `2 requests`. */
function count(n: number, one: string, many = `${one}s`): string {
  return `${number.format(n)} ${n === 1 ? one : many}`;
}

/** Time with as many digits as say something. */
function seconds(ms: number): string {
  return `${number.format(Math.round(ms / 10) / 100)} s`;
}

/** All that the page says. The other languages have the same (see ar.ts). */
export const en = {
  language: 'English',
  seconds,
  shell: {
    lab: 'Side by side',
    live: 'Live',
    pages: 'Pages',
    skip: 'Skip to the content',
    language: 'Language',
    theme: 'Colours',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    footer: {
      lab: 'All of it is worked out in this browser, by the steps of the library. Nothing is sent anywhere.',
      live: 'This page asks nobody but its own server, on this machine.',
    },
  },
  lab: {
    title: 'Rate limits side by side',
    intro: 'The same requests, limited by five algorithms.',
    controls: 'What is limited, and what comes',
    traffic: 'Traffic',
    presets: {
      edge: 'At the edge',
      steady: 'Steady',
      burst: 'Bursts',
      'noisy-neighbour': 'A noisy neighbour',
      'retrying-client': 'A client that retries',
    } satisfies Record<Preset, string>,
    drawn: 'Drawn',
    see: {
      edge: 'As many as are allowed, just before a window of the clock ends and again just after. By the clock, twice the limit passes in three tenths of a window.',
      steady:
        'A quarter more than is allowed, evenly. The clock allows the first ones of each window and then none; the others thin them out.',
      burst:
        'Twice what is allowed at once, two times. Look at the worst second: only the leaky bucket lets them reach the application one by one.',
      'noisy-neighbour':
        'One client keeps to its limit, the other asks for three times as much. Count all together, and the first one pays for the second.',
      'retrying-client':
        'Half more than is allowed, and whoever is refused asks again at once. Let it wait as long as Retry-After says, and see how many requests that spares.',
    } satisfies Record<Preset, string>,
    seeDrawn: 'Your own traffic. Each column is a twentieth of a window.',
    limit: 'Limit',
    limitHint: (most: number) => `Requests in a window: 1 to ${most}`,
    window: 'Window, in seconds',
    windowHint: (most: number) => `1 to ${number.format(most)}`,
    burst: 'Burst',
    burstHint: (most: number) => `What the buckets hold: 1 to ${most}. Empty: the limit`,
    notWhole: (most: number) => `A whole number from 1 to ${number.format(most)}, please.`,
    retries: 'Whoever is refused',
    retriesWords: {
      none: 'stays away',
      impatient: 'asks again at once',
      honest: 'waits as long as Retry-After says',
    } satisfies Record<Retries, string>,
    key: 'Who is counted',
    keyWords: { client: 'each client', everyone: 'all together' } satisfies Record<CountedKey, string>,
    share: 'Copy the link',
    shared: 'Copied. It holds all that you see.',
    notShared: 'It could not be copied. Here it is:',
    draw: 'Draw the traffic',
    drawHint:
      'Drag over the columns. By keyboard: left and right choose a column, up and down or a digit change it.',
    column: (from: number) => `Requests from ${seconds(from)}`,
    clear: 'Clear',
    play: 'Play',
    pause: 'Pause',
    whole: 'Show all',
    time: 'Time',
    speed: 'A window takes',
    keys: 'Space plays and pauses. On a picture, left and right go from request to request.',
    algorithms: {
      'fixed-window': 'Fixed window',
      'sliding-log': 'Sliding log',
      'sliding-counter': 'Sliding counter',
      'token-bucket': 'Token bucket',
      'leaky-bucket': 'Leaky bucket',
    } satisfies Record<ShownAlgorithm, string>,
    says: {
      'fixed-window': 'Counts by the clock, and starts again with each window.',
      'sliding-log': 'Remembers when each request came: exact in any window.',
      'sliding-counter': 'Two counters, the older one by the part of its window that still matters.',
      'token-bucket': 'Tokens flow in evenly; a request takes one.',
      'leaky-bucket': 'The same bucket, but each request waits for its turn.',
    } satisfies Record<ShownAlgorithm, string>,
    allowed: 'allowed',
    waiting: 'waiting',
    refused: 'refused',
    used: 'used',
    reached: 'arrives',
    client: (index: number) => `client ${index + 1}`,
    worstSecond: 'worst second',
    worstSecondMark: (n: number) => `worst second: ${n}`,
    worstWindow: 'most in any window',
    longestWait: 'longest wait',
    picture: (algorithm: string) => `${algorithm}: a picture of its requests`,
    summary: (allowed: number, waiting: number, refused: number, worst: number) =>
      `${count(allowed, 'request')} allowed at once, ${number.format(waiting)} after waiting, ${number.format(refused)} refused. At most ${number.format(worst)} reached the application in a second.`,
    save: 'Save the picture',
    table: 'As a table',
    more: (n: number) => `and ${count(n, 'more', 'more')}`,
    heads: { at: 'at', who: 'who', attempt: 'try', outcome: 'outcome', left: 'left', wait: 'waits' },
    told: 'What the client is told',
    toldNothing: 'Choose a request: click a dot, or go to a picture and press the right arrow.',
    toldOf: (algorithm: string, at: string, client: string, attempt: number) =>
      `${algorithm}, ${at}, ${client}${attempt > 1 ? `, try ${attempt}` : ''}`,
    meaning: {
      allowed: 'It passes.',
      waiting: (wait: string) => `It passes after ${wait}.`,
      refused: (wait: string) =>
        `It is refused. If nobody else comes, it would pass in ${wait}, and not a millisecond before.`,
      never: 'It is refused, and no wait would help.',
    },
    others: 'The same request, by the others',
  },
  live: {
    title: 'Rate limits live',
    intro: 'What the limits of a running sample are doing, second by second.',
    token: 'Admin token',
    tokenHint:
      'What the sample was started with as ADMIN_TOKEN. It goes to this page’s own server and on to the sample, and is kept nowhere.',
    connect: 'Connect',
    disconnect: 'Disconnect',
    states: { connecting: 'Connecting …', live: 'Live.' },
    lost: {
      gone: 'The sample does not answer.',
      limited: 'The sample refuses for now: the admin’s own limit is used up.',
    },
    refused: {
      token: 'The sample does not know this token.',
      closed: 'The sample’s admin routes are closed: start it with ADMIN_TOKEN.',
      absent: 'There is no live view at this address. Open the page by “npm run lab -- serve”.',
    },
    again: (wait: string) => `Again in ${wait}.`,
    freeze: 'Hold still',
    instance: (pid: number, uptime: number) => `Process ${pid}, up for ${number.format(uptime)} s`,
    store: 'Store',
    stores: { memory: 'Memory', valkey: 'Valkey' },
    storeStates: { up: 'decides.', degraded: 'does not decide: policies go by onStoreFailure.' },
    circuitOpen: 'It is left alone, and asked again after short pauses.',
    rate: 'Decisions in a second',
    ago: (secondsAgo: number) => (secondsAgo === 0 ? 'now' : `${secondsAgo} s ago`),
    policies: 'Policies',
    shadow: 'shadow',
    heads: {
      policy: 'policy',
      algorithm: 'algorithm',
      limit: 'limit',
      second: 'last second',
      allowed: 'allowed, last minute',
      refused: 'refused, last minute',
      shadow: 'would refuse',
      lately: 'refused, two minutes',
    },
    limit: (plan: string | undefined, limit: number | 'unlimited', windowMs: number | undefined) => {
      const much = limit === 'unlimited' ? 'unlimited' : number.format(limit);
      return `${plan === undefined ? '' : `${plan}: `}${much}${windowMs === undefined ? '' : ` in ${seconds(windowMs)}`}`;
    },
    top: 'Closest to a limit',
    topHint: 'In all instances together, in the last minute or two. Long keys are shown as a hash.',
    topUnavailable: 'The store does not say.',
    nobody: 'Nobody has asked for anything yet.',
    used: (used: number, limit: number) => `${number.format(used)} of ${number.format(limit)}`,
    deniedTo: (denied: number) => `${number.format(denied)} refused`,
    routes: 'Refusals by route, last minute',
    none: 'None.',
  },
};

export type Texts = typeof en;
