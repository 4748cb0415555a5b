import { RateLimitConfigError } from '../../decision/config-error.js';
import { shardsOf } from './cluster.js';
import type { Connection, ValkeyClient } from './connection.js';

/** Settings of iovalkey's and ioredis' clients, those of a Cluster's nodes included. */
type Settings = Readonly<Record<string, unknown>>;

interface Unfit {
  readonly setting: string;
  readonly isUnfit: (value: unknown) => boolean;
  /** How the warning calls it. */
  readonly shown: string;
  readonly harm: string;
}

/** What suits an application and not a limiter. */
const UNFIT: readonly Unfit[] = [
  {
    setting: 'enableOfflineQueue',
    isUnfit: (value) => value !== false,
    shown: 'enableOfflineQueue: true',
    harm: 'decisions that nobody waits for any more are counted when Valkey is back',
  },
  {
    setting: 'socketTimeout',
    isUnfit: (value) => typeof value !== 'number' || value === 0,
    shown: 'no socketTimeout',
    harm: 'what is sent to a frozen Valkey piles up until it goes on',
  },
  {
    setting: 'enableAutoPipelining',
    isUnfit: (value) => value === true,
    shown: 'enableAutoPipelining: true',
    harm: 'decisions wait for one another',
  },
  {
    // Of a single server's client. A Cluster's does it by the next one.
    setting: 'autoResendUnfulfilledCommands',
    isUnfit: (value) => value === true,
    shown: 'autoResendUnfulfilledCommands: true',
    harm: 'a decision may be counted twice after a lost connection',
  },
  {
    setting: 'retryDelayOnFailover',
    isUnfit: (value) => typeof value === 'number' && value > 0,
    shown: 'retryDelayOnFailover above 0',
    harm: 'a decision may be counted twice after a lost connection',
  },
];

/** A client that the application has: used as it is, and never closed. */
export function useClient(client: ValkeyClient, warn: (line: string) => void): Connection {
  const { isCluster, options = {} } = client as { isCluster?: unknown; options?: Settings };
  const settings = { ...(options['redisOptions'] as Settings | undefined), ...options };
  if (settings['stringNumbers'] === true) {
    throw new RateLimitConfigError(
      'UNFIT_CLIENT',
      'RateLimitModule',
      "valkey is a client with stringNumbers: true, which turns the scripts' numbers into texts. Give the limiter another.",
    );
  }
  // A client of another kind, which does not show its settings, may have fit ones.
  if ('enableOfflineQueue' in settings) warnOfUnfit(settings, warn);
  return {
    client,
    place: "Valkey by the application's client",
    ...(isCluster === true && { shardOf: shardsOf(client) }),
    lastError: () => undefined,
    open: () => Promise.resolve(),
    close: () => undefined,
  };
}

function warnOfUnfit(settings: Settings, warn: (line: string) => void): void {
  const unfit = UNFIT.filter(({ setting, isUnfit }) => isUnfit(settings[setting]));
  if (unfit.length === 0) return;
  const named = unfit.map(({ shown, harm }) => `${shown} (${harm})`).join('; ');
  warn(
    `The application's client has settings that suit no limiter: ${named}. Give the limiter a client of its own, or a URL.`,
  );
}
