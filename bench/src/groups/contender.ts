import { LABELS, type VariantId } from '../contestants/index.js';
import type { Setting } from '../contestants/contestant.js';
import { Child, ChildFailed } from '../processes/child.js';
import type { DecisionAnswers } from '../processes/decisions.js';
import type { ServerAnswers } from '../processes/server.js';

/** A row in the making: a variant, and what it is told beside what all are told. */
export interface Contender {
  readonly id: string;
  readonly variant: VariantId;
  readonly label: string;
  readonly setting: Partial<Setting>;
}

export function contender(variant: VariantId, setting: Partial<Setting> = {}, label?: string): Contender {
  const { policies } = setting;
  return {
    id: policies === undefined ? variant : `${variant}-${policies}`,
    variant,
    label: label ?? LABELS[variant] + (policies === undefined ? '' : `, ${policies} limits`),
    setting,
  };
}

export interface Server extends Contender {
  readonly child: Child<ServerAnswers>;
  readonly port: number;
}

export interface Deciding extends Contender {
  readonly child: Child<DecisionAnswers>;
}

/** What runs, and what could not be started, with the reason. */
export interface Started<Running> {
  readonly running: readonly Running[];
  readonly missing: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

export function startServers(contenders: readonly Contender[], setting: Setting): Promise<Started<Server>> {
  return startAll(contenders, async (one) => {
    const args = [one.variant, JSON.stringify({ ...setting, ...one.setting })];
    const child = await Child.start<ServerAnswers>('server.js', args);
    return { ...one, child, port: await child.ask('port') };
  });
}

export function startDeciding(
  contenders: readonly Contender[],
  setting: Setting,
): Promise<Started<Deciding>> {
  return startAll(contenders, async (one) => {
    const args = [one.variant, JSON.stringify({ ...setting, ...one.setting })];
    return { ...one, child: await Child.start<DecisionAnswers>('decisions.js', args) };
  });
}

async function startAll<Running extends Contender & { readonly child: { stop(): Promise<void> } }>(
  contenders: readonly Contender[],
  start: (contender: Contender) => Promise<Running>,
): Promise<Started<Running>> {
  const running: Running[] = [];
  const missing = new Map<string, string>();
  const stop = async () => void (await Promise.all(running.map(({ child }) => child.stop())));
  // One after the other: a machine with few cores would start none of them faster.
  try {
    for (const one of contenders) {
      try {
        running.push(await start(one));
      } catch (error) {
        if (!(error instanceof ChildFailed)) throw error;
        missing.set(one.id, error.message);
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { running, missing, stop };
}

export function byId<Value>(measured: ReadonlyMap<Contender, Value>): Map<string, Value> {
  return new Map([...measured].map(([{ id }, value]) => [id, value]));
}
