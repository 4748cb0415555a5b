import type { Clock } from '../decision/clock.js';

/** Where the few lines go that a limiter has to say. */
export interface LimiterLog {
  warn(line: string): void;
  log(line: string): void;
}

/** A store that fails again within this time has not recovered in between. */
const QUIET_MS = 1_000;

/** What failures of a store usually mean, by what they say. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'Is it running, and on this port?'],
  [/All sentinels are unreachable/, 'Are they running, and do they know that name?'],
  [/certificate|altname/i, 'Name the authority in tls.ca, and a host that stands in the certificate.'],
  [/EPROTO|wrong version number|SSL routines/i, 'Does it speak TLS on this port?'],
  [/ENOTFOUND|EAI_AGAIN/, 'The host name is not known here.'],
  [/WRONGPASS|NOAUTH|AUTH/, 'Check the user and the password.'],
  [/NOPERM/, 'The user lacks rights on the keys or commands of the limiter.'],
  [/\bOOM\b/, 'Its memory is full, so it decides for known keys at the most: raise maxmemory.'],
  [/READONLY/, 'It is a replica: name the primary.'],
  [/LOADING/, 'It is reading its data and will be ready soon.'],
  [
    /unknown command.*eval/i,
    'It runs no scripts: since Valkey 9.1, Lua is a module that can be switched off.',
  ],
  [/MOVED|CROSSSLOT|CLUSTERDOWN/, 'It is part of a Cluster.'],
  [
    /no answer within/,
    'It is slow, frozen or far away; if that is how long it usually takes, raise deadline.',
  ],
];

/** Turns failures, those of a store or others, into one line when they begin and one when they end. */
export class Outage {
  #since: number | undefined;
  #lastFailure = 0;
  #decisions = 0;

  constructor(
    private readonly log: LimiterLog,
    private readonly clock: Clock,
    private readonly begun = 'The store does not decide; policies go by onStoreFailure until it does.',
    private readonly over = 'The store decides again.',
  ) {}

  /** @param decisions how many decisions the failure touched */
  failed(cause: Error, decisions: number): void {
    this.#decisions += decisions;
    this.#lastFailure = this.clock();
    if (this.#since !== undefined) return;
    this.#since = this.#lastFailure;
    const hint = HINTS.find(([pattern]) => pattern.test(cause.message))?.[1];
    this.log.warn(`${this.begun} ${cause.message}.${hint === undefined ? '' : ` ${hint}`}`);
  }

  /** Whether there was a failure within the last second. */
  get isRecent(): boolean {
    return this.#since !== undefined && this.clock() - this.#lastFailure < QUIET_MS;
  }

  answered(): void {
    if (this.#since === undefined || this.isRecent) return;
    const seconds = ((this.#lastFailure - this.#since) / 1_000).toFixed(1);
    this.log.log(
      `${this.over} It had not for ${seconds} s, in which ${this.#decisions} decisions were made without it.`,
    );
    this.#since = undefined;
    this.#decisions = 0;
  }
}
