import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Tenant } from './tenant.js';

interface StoredTenant extends Tenant {
  readonly apiKeys: readonly string[];
}

/** Demonstration tenants, with keys that everybody may know. A product keeps hashes of theirs, in a database. */
const TENANTS: readonly StoredTenant[] = [
  { id: 'acme', name: 'Acme Tea', plan: 'free', timeZone: 'UTC', apiKeys: ['acme-demo-key'] },
  { id: 'kobe', name: 'Kobe Cups', plan: 'free', timeZone: 'Asia/Tokyo', apiKeys: ['kobe-demo-key'] },
  {
    id: 'hafen',
    name: 'Hafenkontor',
    plan: 'pro',
    timeZone: 'Europe/Berlin',
    apiKeys: ['hafen-demo-key', 'hafen-other-demo-key'],
  },
  { id: 'grand', name: 'Grand Hotels', plan: 'enterprise', timeZone: 'UTC', apiKeys: ['grand-demo-key'] },
];

@Injectable()
export class Tenants {
  readonly #byId = new Map<string, Tenant>();
  /** By hash, so that the time that a look-up takes tells nothing about a key. */
  readonly #byApiKey = new Map<string, Tenant>();

  constructor() {
    for (const { apiKeys, ...tenant } of TENANTS) {
      this.#byId.set(tenant.id, tenant);
      for (const apiKey of apiKeys) this.#byApiKey.set(hash(apiKey), tenant);
    }
  }

  find(id: string | undefined): Tenant | undefined {
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** @param apiKey what a request carries, whatever that is */
  findByApiKey(apiKey: unknown): Tenant | undefined {
    return typeof apiKey === 'string' ? this.#byApiKey.get(hash(apiKey)) : undefined;
  }
}

function hash(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('base64url');
}
