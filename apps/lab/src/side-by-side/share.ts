import {
  COLUMNS,
  type CountedKey,
  DEFAULT_SCENARIO,
  KEYS,
  MOST_LIMIT,
  MOST_WINDOW_MS,
  type Preset,
  PRESETS,
  type Retries,
  RETRIES,
  retriesOf,
  type Scenario,
} from './scenario.js';

/** A scenario as it stands in an address: `limit=10&window=10&traffic=edge`. What is as usual is left out. */
export function toQuery({ limit, windowMs, burst, traffic, retries, key }: Scenario): URLSearchParams {
  const query = new URLSearchParams({ limit: String(limit), window: String(windowMs / 1_000) });
  if (burst !== undefined) query.set('burst', String(burst));
  query.set('traffic', typeof traffic === 'string' ? traffic : traffic.join(''));
  if (retries !== usualRetries(traffic)) query.set('retries', retries);
  if (key !== DEFAULT_SCENARIO.key) query.set('key', key);
  return query;
}

/** What an address says, and where it says nothing that can be used, the usual: anybody may have written it. */
export function fromQuery(query: URLSearchParams): Scenario {
  const traffic = readTraffic(query.get('traffic'));
  return {
    limit: readInteger(query.get('limit'), MOST_LIMIT) ?? DEFAULT_SCENARIO.limit,
    windowMs:
      (readInteger(query.get('window'), MOST_WINDOW_MS / 1_000) ?? DEFAULT_SCENARIO.windowMs / 1_000) * 1_000,
    burst: readInteger(query.get('burst'), MOST_LIMIT),
    traffic,
    retries: readWord<Retries>(query.get('retries'), RETRIES) ?? usualRetries(traffic),
    key: readWord<CountedKey>(query.get('key'), KEYS) ?? DEFAULT_SCENARIO.key,
  };
}

function usualRetries(traffic: Scenario['traffic']): Retries {
  return typeof traffic === 'string' ? retriesOf(traffic) : 'none';
}

function readInteger(text: string | null, most: number): number | undefined {
  if (text === null || !/^[0-9]{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 1 && value <= most ? value : undefined;
}

function readWord<Word extends string>(text: string | null, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === text);
}

function readTraffic(text: string | null): Scenario['traffic'] {
  const preset = readWord<Preset>(text, PRESETS);
  if (preset !== undefined) return preset;
  if (text === null || text.length !== COLUMNS || !/^[0-9]+$/.test(text)) return DEFAULT_SCENARIO.traffic;
  return Array.from(text, Number);
}
