export type Plan = 'free' | 'pro' | 'enterprise';

/** A customer of this API. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Whose midnight begins the tenant's day: an IANA name. */
  readonly timeZone: string;
}
