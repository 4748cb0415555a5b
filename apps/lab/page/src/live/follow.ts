import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { LiveSnapshot } from '../../../../api/src/live-view/live-snapshot.js';

/** How it is with the connection to the sample. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** It is tried again then, in milliseconds since 1970. */
  | { readonly state: 'lost'; readonly why: 'gone' | 'limited'; readonly againAt: number }
  /** Trying again would not help. */
  | { readonly state: 'refused'; readonly why: 'token' | 'closed' | 'absent' };

export interface FollowOptions {
  readonly url: string;
  readonly token: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  onSnapshot(snapshot: LiveSnapshot): void;
  onConnection(connection: Connection): void;
  /** From 0 to below 1. */
  readonly random?: () => number;
  /** Resolves after so many milliseconds, or when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Statuses after which trying again does not help. */
const REFUSALS: Readonly<Record<number, Extract<Connection, { state: 'refused' }>['why']>> = {
  401: 'token',
  403: 'closed',
  404: 'absent',
};

/** What came to an end, and for how long to stay away at the least. */
interface Ending {
  readonly why: 'gone' | 'limited';
  readonly pauseMs: number;
  readonly wasLive: boolean;
}

/**
 * Reads snapshots until it is told to end, or is refused. What is lost is tried again after pauses that double, up to
 * 30 s, each by chance up to half shorter, so that many viewers do not come at once; and not before `Retry-After`.
 */
export async function follow({
  signal,
  onConnection,
  random = Math.random,
  wait = pause,
  ...options
}: FollowOptions): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    onConnection({ state: 'connecting' });
    const ending = await once({ ...options, signal, onConnection });
    if (ending === undefined || signal.aborted) return;
    failures = ending.wasLive ? 1 : failures + 1;
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
    const ms = Math.max(ending.pauseMs, Math.round(longest * (1 - random() / 2)));
    onConnection({ state: 'lost', why: ending.why, againAt: Date.now() + ms });
    await wait(ms, signal);
  }
}

/** Reads one stream to its end. `undefined`: it is not to be tried again. */
async function once({
  url,
  token,
  signal,
  onSnapshot,
  onConnection,
}: Omit<FollowOptions, 'random' | 'wait'>): Promise<Ending | undefined> {
  let wasLive = false;
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      cache: 'no-store',
      signal,
    });
    const why = REFUSALS[response.status];
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    // A server of files that knows no such address may answer with a page.
    if (why !== undefined || (response.ok && !isStream)) {
      onConnection({ state: 'refused', why: why ?? 'absent' });
      return undefined;
    }
    if (!response.ok) {
      const seconds = Number(response.headers.get('retry-after'));
      const isLimited = response.status === 429;
      return { why: isLimited ? 'limited' : 'gone', pauseMs: (seconds || 0) * 1_000, wasLive };
    }
    const events = response
      .body!.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (;;) {
      const { value, done } = await events.read();
      if (done) return { why: 'gone', pauseMs: 0, wasLive };
      if (value.event !== 'snapshot') continue;
      if (!wasLive) onConnection({ state: 'live' });
      wasLive = true;
      onSnapshot(JSON.parse(value.data) as LiveSnapshot);
    }
  } catch {
    // The network says no more than that.
    return { why: 'gone', pauseMs: 0, wasLive };
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
