import { announce, draft11, type Problem, refuse } from './library.js';
import { beginOf, type Request, type Run } from './simulate.js';
import type { Scenario } from './scenario.js';

/** What goes back to the client. */
export interface Told {
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly problem?: Problem;
}

/** The policy's name in header fields. */
export const POLICY = 'api';

/** The answer that the library writes for a request: its header fields, and its problem document where it is refused. */
export function told({ rule }: Run, { at, verdict, outcome }: Request, scenario: Scenario): Told {
  const decision = {
    ...verdict,
    policy: POLICY,
    limit: rule.quota.limit,
    cost: outcome === 'refused' ? 0 : 1,
    store: 'memory' as const,
    at: beginOf(scenario) + at,
  };
  const fields: [string, string][] = [];
  draft11.write([decision], [announce(draft11, { name: POLICY, quota: rule.quota })], (name, value) =>
    fields.push([name, value]),
  );
  if (decision.outcome === 'allowed') return { status: 200, fields };
  const { problem, retryAfter } = refuse([decision]);
  if (retryAfter !== undefined) fields.push(['Retry-After', String(retryAfter)]);
  fields.push(['Cache-Control', 'no-store'], ['Content-Type', 'application/problem+json; charset=utf-8']);
  return { status: problem.status, fields, problem };
}
