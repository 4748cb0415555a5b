import type { AlgorithmName } from './library.js';

/** The five that are shown side by side, in the order of the page. */
export const SIDE_BY_SIDE = [
  'fixed-window',
  'sliding-log',
  'sliding-counter',
  'token-bucket',
  'leaky-bucket',
] as const satisfies readonly AlgorithmName[];
export type ShownAlgorithm = (typeof SIDE_BY_SIDE)[number];

/** Kinds of traffic that are made, whatever the limit is. */
export const PRESETS = ['edge', 'steady', 'burst', 'noisy-neighbour', 'retrying-client'] as const;
export type Preset = (typeof PRESETS)[number];

/** What a client does that was refused: nothing, ask again soon, or ask again when `Retry-After` says. */
export const RETRIES = ['none', 'impatient', 'honest'] as const;
export type Retries = (typeof RETRIES)[number];

/** Whether each client has a limit of its own, or all share one. */
export const KEYS = ['client', 'everyone'] as const;
export type CountedKey = (typeof KEYS)[number];

/** All that a picture depends on. */
export interface Scenario {
  /** 1 to {@link MOST_LIMIT}. */
  readonly limit: number;
  /** Whole seconds, as milliseconds: 1 s to 1 h. */
  readonly windowMs: number;
  /** What the buckets hold, 1 to {@link MOST_LIMIT}. Left out: the limit. */
  readonly burst?: number | undefined;
  /** A kind of traffic, or how many requests come in each of {@link COLUMNS} equal parts of the time. */
  readonly traffic: Preset | readonly number[];
  readonly retries: Retries;
  readonly key: CountedKey;
}

export const MOST_LIMIT = 100;
export const MOST_WINDOW_MS = 3_600_000;
/** So many windows are shown. */
export const WINDOWS = 3;
/** Drawn traffic is a number for each twentieth of a window. */
export const COLUMNS = 20 * WINDOWS;
/** One digit in an address. */
export const MOST_IN_COLUMN = 9;

export const DEFAULT_SCENARIO: Scenario = {
  limit: 10,
  windowMs: 10_000,
  traffic: 'edge',
  retries: 'none',
  key: 'client',
};

/** How many milliseconds are shown. */
export function spanOf({ windowMs }: Scenario): number {
  return WINDOWS * windowMs;
}

/** What a preset asks a refused client to do until somebody chooses otherwise. */
export function retriesOf(preset: Preset): Retries {
  return preset === 'retrying-client' ? 'impatient' : 'none';
}
