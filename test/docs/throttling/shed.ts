import type { ShedOptions } from 'nestjs-valkey-rate-limit';

export const shed: ShedOptions = {
  fleet: { limit: 200, reserve: 0.2 }, // all instances together; 40 of them for critical requests alone
  worker: { utilization: 0.8, delay: '10ms' }, // this process
  priority: ({ request }) => (request.headers['x-batch'] === undefined ? undefined : 'background'),
};
