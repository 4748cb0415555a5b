import type { Answers } from './child.js';

interface Question {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

/** The child's side: makes what can be asked, says that it is ready or why not, and answers until the parent is gone. */
export async function answer(make: () => Promise<Answers> | Answers): Promise<void> {
  process.on('disconnect', () => process.exit());
  await reply(0, async () => {
    const answers = await make();
    process.on('message', ({ id, name, argument }: Question) => {
      void reply(id, () => answers[name]!(argument as never));
    });
  });
}

async function reply(id: number, work: () => unknown): Promise<void> {
  try {
    process.send!({ id, value: await work() });
  } catch (error) {
    process.send!({ id, failed: (error as Error).message });
    if (id === 0) process.exitCode = 1;
  }
}
