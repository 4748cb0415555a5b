import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type LocalPrometheus, startPrometheus } from '../../tools/local-prometheus.js';
import { findPrometheus } from '../../tools/prometheus-binary.js';
import { until } from '../../tools/until.js';
import { end, type Listening, startProcess } from '../support/processes.js';
import { as, json } from '../support/sample.js';
import { ownValkey } from '../support/valkey.js';
import { faultsOf, labelsOf } from './faults.js';
import { readExpression } from './promql.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly Panel[];
}

const SCRAPE_MS = 500;
const TOKEN = 'secret';
const POLICY = 'rate_limit_policy';

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const MAIN = fileOf('../../apps/api/dist/main.js');
const ALERTS = fileOf('../../docs/observability/alerts.yml');
const ALERT_TESTS = fileOf('alerts.test.yml');

const dashboard = JSON.parse(
  readFileSync(fileOf('../../docs/observability/dashboard.json'), 'utf8'),
) as Dashboard;
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ refId, expr, legendFormat }) => ({ name: `${title} ${refId}`, expr, legendFormat })),
);

/** What Grafana puts in the place of variables, with all policies chosen. */
const filledIn = (expression: string) =>
  expression.replaceAll('$policy', '.*').replaceAll('$__rate_interval', '1m');

const OPEN = 'rate_limit_store_circuit{rate_limit_circuit_state="open"}';

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const isOfCircuit = ({ labels }: Alert) => labels['alertname'] === 'RateLimitCircuitOpen';

let sample: Listening;
let prometheus: LocalPrometheus;
/** When the sample had told everything. After the first test it is gone. */
let then: number;
let alertsOfOutage: readonly Alert[];

beforeAll(async () => {
  const valkey = await ownValkey();
  sample = await startProcess(MAIN, [], { VALKEY_URL: valkey.url, ADMIN_TOKEN: TOKEN });
  const { url } = sample;
  prometheus = await startPrometheus({
    targets: [url],
    scrapeIntervalMs: SCRAPE_MS,
    rules: [ALERTS],
    bearerToken: TOKEN,
  });
  await until('the sample tells Prometheus', async () => (await prometheus.query('up'))[0]?.value === 1);

  /** Whether Prometheus has seen all of these grow. */
  const grew = async (...counters: string[]) => {
    const rates = await Promise.all(counters.map((each) => prometheus.query(`sum(rate(${each}[1m]))`)));
    return rates.every(([rate]) => rate !== undefined && rate.value > 0);
  };
  const isOpen = async () => (await prometheus.query(OPEN))[0]?.value === 1;

  await visitUntil(url, 'Prometheus knows of refusals', () =>
    grew(
      'rate_limit_decisions_total{rate_limit_outcome="denied"}',
      'rate_limit_decisions_total{rate_limit_shadow="denied"}',
      'rate_limit_near_limit_total{rate_limit_policy="api"}',
      'rate_limit_deny_cache_hits_total',
    ),
  );
  valkey.kill('SIGSTOP');
  await visitUntil(url, 'Prometheus knows of the outage', async () => {
    alertsOfOutage = (await prometheus.get<{ alerts: Alert[] }>('alerts')).alerts;
    const isKnown = await grew(
      'rate_limit_decisions_total{rate_limit_outcome="unavailable"}',
      'rate_limit_decisions_total{rate_limit_store="local"}',
      'rate_limit_store_failures_total',
    );
    return isKnown && alertsOfOutage.some(isOfCircuit);
  });
  valkey.kill('SIGCONT');
  await visitUntil(url, 'Prometheus knows that it is over', async () => !(await isOpen()));
  then = Date.now();
}, 120_000);

// If it did not come to a first test, after which processes are ended, the sample is there still.
afterAll(() => Promise.all([prometheus?.stop(), sample && end(sample.child)]));

/** Prometheus looks several times meanwhile: a rate needs two looks at the least. */
function visitUntil(url: string, what: string, check: () => Promise<boolean>): Promise<void> {
  return until(what, async () => {
    for (let count = 0; count < 7; count += 1) await (await fetch(`${url}/products`)).arrayBuffer();
    const wrong = json('POST', { username: `user ${performance.now()}`, password: 'wrong' });
    await Promise.all([fetch(`${url}/login`, wrong), fetch(`${url}/v1/products`, as('acme'))]);
    await sleep(SCRAPE_MS / 2);
    return check();
  });
}

async function promtool(...args: string[]): Promise<string> {
  const { promtool: command, env } = await findPrometheus();
  const { stdout } = await promisify(execFile)(command, args, { env });
  return stdout;
}

describe('the dashboard', () => {
  test.each(queries)('asks for what there is: $name', async ({ expr, legendFormat }) => {
    const expression = filledIn(expr);
    expect(expression).not.toContain('$');
    expect(await faultsOf(prometheus, expression)).toEqual([]);

    const samples = await prometheus.query(expression, then);
    expect(samples.filter(({ value }) => Number.isFinite(value))).not.toEqual([]);
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      for (const { labels } of samples) expect(Object.keys(labels)).toContain(label);
    }
  });

  test('shows what happened', async () => {
    const valueOf = async (title: string, labels: Record<string, string>) => {
      const { expr } = queries.find(({ name }) => name === title)!;
      const samples = await prometheus.query(filledIn(expr), then);
      return samples.find((each) =>
        Object.entries(labels).every(([name, value]) => each.labels[name] === value),
      )?.value;
    };
    const api = { [POLICY]: 'api' };
    expect(await valueOf('Decisions A', { ...api, rate_limit_outcome: 'denied' })).toBeGreaterThan(0);
    expect(await valueOf('Refused share A', api)).toBeGreaterThan(0.2);
    expect(await valueOf('Refused share A', api)).toBeLessThan(1);
    expect(await valueOf('Near the limit A', api)).toBeGreaterThan(0);
    expect(await valueOf('In shadow: would be refused A', { [POLICY]: 'api-next' })).toBeGreaterThan(0.2);
    expect(await valueOf('Denied without asking the store A', api)).toBeGreaterThan(0);
    expect(await valueOf('How long a decision takes B', {})).toBeLessThan(1);
    expect(await valueOf('Who decides A', { rate_limit_store: 'valkey' })).toBeGreaterThan(0);
    expect(await valueOf('Who decides A', { rate_limit_store: 'local' })).toBeGreaterThan(0);
    expect(await valueOf('Who decides B', {})).toBeGreaterThan(0);
    expect(await valueOf('Failures of the store A', {})).toBeGreaterThan(0);
    expect(await valueOf('Open circuits A', {})).toBe(0);
  });

  test('offers the policies', async () => {
    const { definition } = dashboard.templating.list.find(({ name }) => name === 'policy')!;
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition!)!;
    expect(await prometheus.get(`label/${label}/values`, { 'match[]': metric! })).toEqual(
      expect.arrayContaining(['api', 'api-next', 'login', 'requests']),
    );
  });

  test('has a place for each panel, and takes all of them from the chosen data source', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { type, datasource, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect(x + w).toBeLessThanOrEqual(24);
      for (let place = 0; place < w * h; place += 1) {
        const at = `${x + (place % w)},${y + Math.floor(place / w)}`;
        expect(taken).not.toContain(at);
        taken.add(at);
      }
      if (type !== 'row') expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
    }
  });
});

describe('the alerts', () => {
  test('ask for what there is', async () => {
    const rules = await prometheus.rules();
    expect(rules.length).toBeGreaterThan(5);
    for (const { query, annotations = {} } of rules) {
      expect(await faultsOf(prometheus, query)).toEqual([]);
      const { selectors, grouped } = readExpression(query);
      const labels = new Set(grouped);
      if (grouped.length === 0)
        for (const { metric } of selectors)
          for (const each of await labelsOf(prometheus, metric)) labels.add(each);
      for (const [, label] of Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g))
        expect(labels).toContain(label);
    }
  });

  test('can be evaluated, and say what to do', async () => {
    await until('all have been', async () =>
      (await prometheus.rules()).every(({ health }) => health !== 'unknown'),
    );
    for (const { type, name, health, labels, annotations } of await prometheus.rules()) {
      expect([name, health]).toEqual([name, 'ok']);
      if (type === 'recording') continue;
      expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) });
      expect(annotations).toEqual({ summary: expect.any(String), description: expect.any(String) });
    }
  });

  test('told of the outage', () => {
    expect(alertsOfOutage.find(isOfCircuit)).toMatchObject({
      labels: { job: 'test', severity: 'critical' },
      annotations: { summary: expect.stringMatching(/^127\.0\.0\.1:\d+ leaves its store alone/) },
    });
  });

  test('are right for promtool, and fire when they should, and only then', async () => {
    expect(await promtool('check', 'rules', ALERTS)).toContain('SUCCESS');
    expect(await promtool('test', 'rules', ALERT_TESTS)).toContain('SUCCESS');
    const tests = await readFile(ALERT_TESTS, 'utf8');
    const alerts = (await prometheus.rules()).filter(({ type }) => type === 'alerting');
    for (const { name } of alerts) expect(tests).toContain(`ALERTS{alertname="${name}", alertstate="firing"`);
  });
});

describe('what is misspelt', () => {
  test.each([
    ['rate(rate_limit_decision_total[1m])', 'there is no metric rate_limit_decision_total'],
    ['up{polcy="api"}', 'up has no label polcy'],
    [
      'rate_limit_decisions_total{rate_limit_policy="api", rate_limit_outcom=~"denied"}',
      'rate_limit_decisions_total has no label rate_limit_outcom',
    ],
    [
      'rate_limit_decisions_total{rate_limit_outcome=~"denied|refused"}',
      'rate_limit_outcome is never "refused"',
    ],
    ['sum by (rate_limit_polcy) (rate(rate_limit_decisions_total[1m]))', 'nothing has rate_limit_polcy'],
    ['sum(rate_limit_leases_held) without (instanz)', 'nothing has instanz'],
    ['up * on (job) group_left (pod) up', 'nothing has pod'],
  ])('is found: %s', async (expression, fault) => {
    await prometheus.query(expression); // Prometheus finds nothing wrong with it
    expect(await faultsOf(prometheus, expression)).toEqual([fault]);
  });
});
