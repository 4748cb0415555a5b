import { interleave } from '../measure/rounds.js';
import type { Table, Target } from '../report/result.js';
import { figure, ratioTo, tableOf, target } from '../report/tables.js';
import { byId, contender, startServers } from './contender.js';
import { type Group, TIGHT } from './group.js';
import { measureRequests, REQUEST_COLUMNS, REQUESTS_HOW } from './requests.js';

const ROUNDS = 5;
const SECONDS = 0.8;

const ALLOWED = [
  contender('none/nest', {}, 'no limiter, answers 200'),
  contender('none/bare', {}, 'bare Fastify, no Nest, answers 200'),
];
const CONTENDERS = [
  ...ALLOWED,
  contender('ours/refuse'),
  contender('ours/refuse-guard'),
  contender('ours/refuse-ask'),
  contender('hand/memory'),
  contender('hand/valkey'),
  contender('fastify/memory'),
  contender('fastify/redis'),
  contender('flexible/memory'),
  contender('flexible/valkey'),
  contender('flexible/valkey-block'),
  contender('throttler/memory'),
  contender('throttler/redis'),
];

const always200 = new Set(ALLOWED.map(({ id }) => id));

export const refused: Group = {
  title: 'Requests that are refused',
  how: [
    ...REQUESTS_HOW,
    'one client that is over its limit all the time; what is compared with is the application without a limiter, which allows everything',
    'a run in which anything is not 429 is thrown away',
    `medians of ${ROUNDS} interleaved rounds of ${SECONDS} s after one to warm up; ratios within each round`,
  ],
  async run(bench) {
    const servers = await startServers(CONTENDERS, { valkey: bench.valkey.url, ...TIGHT });
    try {
      const measured = await interleave(servers.running, ROUNDS, (server, warmUp) =>
        measureRequests(bench, server, {
          seconds: SECONDS,
          clients: ['client-0'],
          status: warmUp ? undefined : always200.has(server.id) ? 200 : 429,
        }),
      );
      const table = tableOf({
        id: 'refused',
        title: 'All refused, one client, 50 connections',
        columns: REQUEST_COLUMNS,
        contenders: CONTENDERS,
        rounds: byId(measured),
        missing: servers.missing,
        base: 'none/nest',
      });
      return { tables: [table], targets: targets(table) };
    } finally {
      await servers.stop();
    }
  },
};

function targets(table: Table): Target[] {
  const perSecond = (row: string) => ratioTo(table, row, 'perSecond');
  return [
    target('HTTP, refused: requests/s, × no limiter allowed', perSecond('ours/refuse'), 'at least', 1.3),
    target(
      'HTTP, refused: Valkey calls per request',
      figure(table, 'ours/refuse', 'scripts'),
      'at most',
      0.001,
      { digits: 4, unit: '' },
    ),
    target(
      'HTTP, refused by the guard asking Valkey: requests/s, × no limiter allowed',
      perSecond('ours/refuse-ask'),
      'at least',
      0.85,
    ),
  ];
}
