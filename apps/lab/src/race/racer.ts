// One of the processes of `race`: says that it is ready, and then makes the requests that it is told to, all at once.
import { openLimiter } from '../limiter.js';
import type { ValkeyPlace } from '../place.js';
import { hourlyPolicies } from '../policies.js';
import { connect } from '../valkey/valkey.js';
import type { RacerOrder, RacerReport, RacerSetup } from './racers.js';

// When the starter is gone, there is nobody to race for.
process.once('disconnect', () => process.exit());

try {
  const { url, prefix, limit } = JSON.parse(process.env['LAB_RACER'] ?? '{}') as RacerSetup;
  const client = await connect(url);
  const place: ValkeyPlace = {
    store: 'valkey',
    server: '',
    prefix,
    url,
    client,
    close: () => Promise.resolve(),
  };
  const limiter = await openLimiter(place, hourlyPolicies(limit));
  process.on('message', ({ policy, requests }: RacerOrder) => {
    const made = Array.from({ length: requests }, () => limiter.consume(policy, 'large', 0));
    Promise.all(made).then(
      (decisions) => report({ allowed: decisions.filter(({ outcome }) => outcome === 'allowed').length }),
      fail,
    );
  });
  report({ ready: true });
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  report({ error: error instanceof Error ? error.message : String(error) });
}

function report(message: RacerReport): void {
  // The starter may be gone by now, and then nobody is left to be told.
  if (process.connected) process.send?.(message, () => undefined);
}
