import { writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

/** Writes a file as the linter wants to find it. */
export async function writePretty(file: string, text: string): Promise<void> {
  await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}
