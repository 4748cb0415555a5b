/** The application under one limiter, on a port of its own. Arguments: the variant, and what it is told, as JSON. */
import type { Setting } from '../contestants/contestant.js';
import { loadVariant, type VariantId } from '../contestants/index.js';
import { answer } from './answer.js';

export type ServerAnswers = {
  port(): number;
  /** What the process has used since it began. */
  cpuMicros(): number;
};

await answer(async (): Promise<ServerAnswers> => {
  const [id, setting] = process.argv.slice(2) as [VariantId, string];
  const { serve } = await loadVariant(id);
  if (!serve) throw new Error(`${id} serves nothing`);
  const { port } = await serve(JSON.parse(setting) as Setting);
  return { port: () => port, cpuMicros };
});

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
