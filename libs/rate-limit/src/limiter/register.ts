/**
 * Lets TypeScript know the application's policies, so that a misspelt name does not compile. Without it, names are
 * checked when the application boots.
 *
 * @example
 * ```ts
 * export const policies = definePolicies({ api: { algorithm: 'token-bucket', limit: 100, window: '1m' } });
 *
 * declare module 'nestjs-valkey-rate-limit' {
 *   interface Register {
 *     policies: typeof policies;
 *   }
 * }
 * ```
 */
// An interface, because the application merges its policies into it.
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface
export interface Register {}

/** The name of a policy: one that was registered, or any text where none was. */
export type PolicyName = Register extends { policies: infer Policies }
  ? Extract<keyof Policies, string>
  : string;

type PlanOf<Policy> = Policy extends { plans: infer Plans } ? Extract<keyof Plans, string> : never;

type RegisteredPlan = Register extends { policies: infer Policies }
  ? PlanOf<Policies[keyof Policies]>
  : never;

/** The name of a plan: one that a registered policy has, or any text where none has. */
export type PlanName = [RegisteredPlan] extends [never] ? string : RegisteredPlan;
