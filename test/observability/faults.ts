import type { Decision, StoreName } from 'nestjs-valkey-rate-limit';
import type { LocalPrometheus } from '../../tools/local-prometheus.js';
import { type Matcher, readExpression } from './promql.js';

/** Every value of those labels that have few. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  rate_limit_outcome: [
    'allowed',
    'denied',
    'unavailable',
    'unlimited',
    'unidentified',
    'forbidden',
    'shed',
  ] satisfies Decision['outcome'][],
  rate_limit_store: ['memory', 'valkey', 'local'] satisfies StoreName[],
  rate_limit_shadow: ['allowed', 'denied'],
  rate_limit_circuit_state: ['closed', 'open'],
};

/** What is wrong with the names in an expression, for a Prometheus that has seen all metrics. */
export async function faultsOf(prometheus: LocalPrometheus, expression: string): Promise<string[]> {
  const { selectors, grouped } = readExpression(expression);
  const known = new Set<string>();
  const faults: string[] = [];
  for (const { metric, matchers } of selectors) {
    const labels = await labelsOf(prometheus, metric);
    if (labels.size === 0) faults.push(`there is no metric ${metric}`);
    for (const label of labels) known.add(label);
    for (const matcher of matchers) faults.push(...faultsOfMatcher(metric, labels, matcher));
  }
  return [...faults, ...grouped.filter((each) => !known.has(each)).map((each) => `nothing has ${each}`)];
}

function faultsOfMatcher(metric: string, labels: ReadonlySet<string>, { label, value }: Matcher): string[] {
  if (!labels.has(label)) return [`${metric} has no label ${label}`];
  const values = VALUES[label];
  if (values === undefined || value === '.+') return [];
  return value
    .split('|')
    .filter((each) => !values.includes(each))
    .map((each) => `${label} is never "${each}"`);
}

/** The labels that a metric has; none of a metric that nobody has. */
export async function labelsOf(prometheus: LocalPrometheus, metric: string): Promise<ReadonlySet<string>> {
  const series = await prometheus.get<Record<string, string>[]>('series', { 'match[]': metric });
  return new Set(series.flatMap((each) => Object.keys(each)));
}
