import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export const CONFIG_FILE = fileURLToPath(new URL('../../page/vite.config.ts', import.meta.url));

/** Builds the page into an empty folder, from which any server of files can serve it, at any address. */
export async function buildPage(outDir: string): Promise<void> {
  await build({
    configFile: CONFIG_FILE,
    logLevel: 'warn',
    build: { outDir: resolve(outDir), emptyOutDir: true },
  });
}
