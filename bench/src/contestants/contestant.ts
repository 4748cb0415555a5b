/** What every contestant is told. All of them get the same. */
export interface Setting {
  /** URL of the server, for those that use one. */
  readonly valkey: string;
  /** How much each client may do in a window. */
  readonly limit: number;
  readonly windowMs: number;
  /** How many limits a request has to pass. Left out: 1. */
  readonly policies?: number;
  /** How our own policies count, where it is not the token bucket. */
  readonly algorithm?: string;
  /** Gives our own policies a clock that goes on by so much whenever it is looked at, as if requests came so far apart. */
  readonly stepMs?: number;
}

/** The application behind a limiter, listening. */
export interface Served {
  readonly port: number;
  close(): Promise<void>;
}

/** A limiter without an application. */
export interface Decider {
  /** Takes one from a client's limit. A promise where the limiter gives one. */
  decide(client: string): unknown;
  /** Throws for an answer that was not decided where it should have been. */
  check?(answer: unknown): void;
  close(): Promise<void>;
}

/** One way to use one limiter. */
export interface Variant {
  readonly serve?: (setting: Setting) => Promise<Served>;
  readonly decide?: (setting: Setting) => Promise<Decider>;
}

export type Variants = Readonly<Record<string, Variant>>;

/** The field that tells clients apart, everywhere. */
export const CLIENT_FIELD = 'x-client';
