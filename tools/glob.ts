import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The files below a folder that end in `ending`, sorted, without what builds and installations leave there. */
export async function glob(folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .toSorted();
}
