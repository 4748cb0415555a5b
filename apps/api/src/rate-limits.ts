import {
  byPlan,
  definePolicies,
  key,
  type RateLimitContext,
  type ShedOptions,
  type TelemetryOptions,
  when,
} from 'nestjs-valkey-rate-limit';
import { phoneIn } from './otp/phone.js';

const address = key.ip();

/** A tenant by its id, which the admin routes know as well; whoever sends no API key, or a wrong one, by address. */
const caller = (context: RateLimitContext) => context.tenant ?? `stranger|${address(context)}`;
const byCaller = { key: caller, default: 'free' } as const;

/** Phone numbers do not belong in Valkey. */
const phone = (context: RateLimitContext) => context.hash(phoneIn(context.request['body']));

/** Such as "192.0.2.0/24,2001:db8::/32". */
const office = (process.env['OFFICE_NETWORKS'] ?? '').split(',').filter((network) => network !== '');

const bucket = (limit: number, burst: number) =>
  ({ algorithm: 'token-bucket', limit, window: '1m', burst }) as const;
const aMinute = (limit: number) => ({ algorithm: 'sliding-counter', limit, window: '1m' }) as const;
const aDay = (limit: number) => ({ algorithm: 'quota', limit, period: 'day' }) as const;

/** Every limit of this API. */
export const policies = definePolicies({
  /** A burst of five, then one more every two seconds. The office may look as often as it likes. */
  api: { algorithm: 'token-bucket', limit: 5, window: '10s', key: key.ip(), skip: when.network(office) },
  /** What `api` may become. It refuses nobody yet, and /admin/shadows says whom it would have refused. */
  'api-next': { algorithm: 'token-bucket', limit: 3, window: '10s', key: key.ip(), mode: 'shadow' },
  /** The same for messages over WebSockets, however many are open. */
  messages: { algorithm: 'token-bucket', limit: 5, window: '10s', key: key.ip() },

  /** What a tenant may do in all. */
  requests: byPlan(
    { free: bucket(60, 10), pro: bucket(600, 100), enterprise: bucket(6_000, 1_000) },
    byCaller,
  ),
  /** Pages of results: a search for many costs more. */
  search: byPlan({ free: aMinute(20), pro: aMinute(200), enterprise: aMinute(2_000) }, byCaller),
  /** So many a day, of the calendar on the tenant's wall. */
  reports: byPlan({ free: aDay(3), pro: aDay(50), enterprise: 'unlimited' }, byCaller),

  /**
   * Guessing passwords: without knowing how often somebody has tried, nobody may try. Right ones are given back, and who
   * goes on guessing is blocked, longer each time.
   */
  login: {
    algorithm: 'sliding-log',
    limit: 5,
    window: '1m',
    key: key.join(key.ip(), key.body('username')),
    onStoreFailure: 'closed',
    penalty: { after: 3, block: '15m', growth: 2, max: '24h' },
  },
  /** Each costs money and rings somewhere. What is no phone number is counted by address. */
  otp: {
    algorithm: 'sliding-log',
    limit: 3,
    window: '1h',
    key: key.firstOf(phone, key.ip()),
    onStoreFailure: 'closed',
  },
  /** Clients choose the phone, and so need a limit that they do not choose. */
  'otp-address': {
    algorithm: 'sliding-log',
    limit: 20,
    window: '1h',
    key: key.ip(),
    onStoreFailure: 'closed',
  },
  /**
   * What the provider of SMS takes: never more than 10 in a second, from all instances together. Turns come evenly, but a
   * message reaches it later than its turn, by what an answer of Valkey (50 ms at the most), a busy process, a new
   * connection and the network take. With 10 in 1.2 s, one may be 200 ms later than those behind it before an eleventh comes
   * within the second. Almost six seconds of messages may wait. While nobody knows how many the others send, nobody sends.
   */
  'sms-provider': {
    algorithm: 'leaky-bucket',
    limit: 10,
    window: '1200ms',
    burst: 50,
    onStoreFailure: 'closed',
  },
  /** Guessing the admin's token. Also while Valkey is down, as the admin may be needed then. */
  admin: { ...aMinute(60), key: key.ip(), onStoreFailure: 'local' },
});

/** Who has to be let in when there is more to do than can be done: `@Priority` at the handlers says it. */
export const shed: ShedOptions = { worker: { utilization: 0.8, delay: '10ms' } };

/** For /metrics and /admin/top. Who was refused stands in the log: addresses, and hashes of phones. */
export const telemetry: TelemetryOptions = { metrics: true, top: 200, exposeKeys: true, serverTiming: true };

/** Those whose key is a tenant's id. */
export const TENANT_POLICIES = ['requests', 'search', 'reports'] as const;
export type TenantPolicy = (typeof TENANT_POLICIES)[number];

declare module 'nestjs-valkey-rate-limit' {
  interface Register {
    policies: typeof policies;
  }
}
