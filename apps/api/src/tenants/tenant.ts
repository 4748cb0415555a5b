export const TIME_ZONES = ['UTC', 'Europe/Berlin', 'Asia/Tokyo'] as const;

export type TimeZone = (typeof TIME_ZONES)[number];
export type Plan = 'free' | 'pro' | 'enterprise';

/** A customer of this API. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Whose midnight begins the tenant's day. */
  readonly timeZone: TimeZone;
}
