import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));

/** Two pages that load nothing but their own files, wherever they are put: addresses are relative. */
export default {
  root,
  base: './',
  build: {
    // Firefox 121, Chromium 120 and Safari 17.2, of December 2023, and later.
    target: ['firefox121', 'chrome120', 'safari17.2'],
    modulePreload: { polyfill: false },
    rollupOptions: { input: { index: join(root, 'index.html'), live: join(root, 'live.html') } },
    // The charts are most of it, and come from this machine.
    chunkSizeWarningLimit: 1_000,
  },
} satisfies UserConfig;
