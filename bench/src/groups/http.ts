import { interleave } from '../measure/rounds.js';
import type { Table, Target } from '../report/result.js';
import { between, ratioTo, figure, tableOf, target, toLowest } from '../report/tables.js';
import { byId, contender, startServers } from './contender.js';
import { type Group, ROOMY } from './group.js';
import { clientNames, measureRequests, REQUEST_COLUMNS, REQUESTS_HOW } from './requests.js';

const ROUNDS = 5;
const SECONDS = 1.2;
const CLIENTS = 1_000;

const CONTENDERS = [
  contender('none/nest'),
  contender('none/bare'),
  contender('ours/memory'),
  contender('hand/memory'),
  contender('fastify/memory'),
  contender('flexible/memory'),
  contender('throttler/memory'),
  contender('ours/valkey'),
  contender('ours/valkey', { policies: 3 }),
  contender('hand/valkey'),
  contender('flexible/valkey'),
  contender('fastify/redis'),
  contender('throttler/redis'),
  contender('throttler/redis', { policies: 3 }),
];

const ON_EXPRESS = [contender('none/express'), contender('express/redis')];

/** Peers that ask a server. */
const PEERS = ['flexible/valkey', 'fastify/redis', 'throttler/redis'];

export const http: Group = {
  title: 'Requests that are allowed',
  how: [
    ...REQUESTS_HOW,
    `${CLIENTS.toLocaleString('en')} clients, ${ROOMY.limit.toLocaleString('en')} an hour each, so that nothing is refused: a run in which anything is not 200 is thrown away`,
    `medians of ${ROUNDS} interleaved rounds of ${SECONDS} s after one to warm up; ratios within each round`,
  ],
  async run(bench) {
    const servers = await startServers([...CONTENDERS, ...ON_EXPRESS], {
      valkey: bench.valkey.url,
      ...ROOMY,
    });
    try {
      const clients = clientNames(CLIENTS);
      const measured = await interleave(servers.running, ROUNDS, (server) =>
        measureRequests(bench, server, { seconds: SECONDS, clients, status: 200 }),
      );
      const parts = { columns: REQUEST_COLUMNS, rounds: byId(measured), missing: servers.missing };
      const table = tableOf({
        ...parts,
        id: 'http',
        title: 'All allowed, 50 connections, 1,000 clients',
        contenders: CONTENDERS,
        base: 'none/nest',
      });
      const express = tableOf({
        ...parts,
        id: 'http-express',
        title: 'The same on Express, against Nest on Express',
        contenders: ON_EXPRESS,
        base: 'none/express',
      });
      return {
        tables: [table, express],
        targets: targets(table),
      };
    } finally {
      await servers.stop();
    }
  },
};

function targets(table: Table): Target[] {
  return [
    target(
      'HTTP, memory: requests/s, × no limiter',
      ratioTo(table, 'ours/memory', 'perSecond'),
      'at least',
      0.88,
    ),
    target(
      'HTTP, Valkey: requests/s, × no limiter',
      ratioTo(table, 'ours/valkey', 'perSecond'),
      'at least',
      0.75,
    ),
    target('HTTP, Valkey: Node CPU, × no limiter', ratioTo(table, 'ours/valkey', 'cpu'), 'at most', 1.2),
    target(
      'HTTP, Valkey: Valkey CPU, × hand-written EVALSHA',
      between(table, 'ours/valkey', 'hand/valkey', 'valkeyCpu'),
      'at most',
      0.5,
    ),
    target('HTTP, Valkey: p99, × best peer', toLowest(table, 'ours/valkey', PEERS, 'p99'), 'at most', 1),
    target(
      'HTTP, three policies: requests/s, × no limiter',
      ratioTo(table, 'ours/valkey-3', 'perSecond'),
      'at least',
      0.68,
    ),
    target(
      'HTTP, three policies: script calls per request',
      figure(table, 'ours/valkey-3', 'scripts'),
      'at most',
      1,
      { unit: '' },
    ),
  ];
}
