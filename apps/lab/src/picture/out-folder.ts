import { mkdir, stat } from 'node:fs/promises';
import { BadOptionError } from '../bad-option.js';

/** Makes sure of a folder to write to, and of that folder only: misspelt, a path would leave a tree of folders. */
export async function outFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    const mend =
      code === 'ENOENT' ? 'Make the folder that it is in first.' : 'Name one that can be written to.';
    throw new BadOptionError(`--out ${folder} cannot be made a folder: ${message}. ${mend}`, {
      cause: error,
    });
  }
}
