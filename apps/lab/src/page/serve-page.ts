import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preview } from 'vite';
import { buildPage, CONFIG_FILE } from './build-page.js';

export interface ServeOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** Where the sample runs whose live view is shown, such as `http://127.0.0.1:3000`. */
  readonly sample: string;
}

export interface ServedPage {
  readonly url: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** What the page asks of its own server, so that it needs no other: the events of the sample's live view. */
const LIVE_EVENTS = '/live-events';

/**
 * Builds the page and serves it, to this machine only.
 *
 * @throws when the port is taken
 */
export async function servePage({ port, sample }: ServeOptions): Promise<ServedPage> {
  const outDir = await mkdtemp(join(tmpdir(), 'lab-page-'));
  const forget = () => rm(outDir, { recursive: true, force: true });
  try {
    await buildPage(outDir);
    const server = await preview({
      configFile: CONFIG_FILE,
      // It would say in red, with a stack, that the sample does not run. The page says so in words.
      logLevel: 'silent',
      plugins: [{ name: 'forget-the-build', closePreviewServer: forget }],
      build: { outDir },
      preview: {
        host: HOST,
        port,
        strictPort: true,
        cors: false,
        headers: {
          'Content-Security-Policy': "frame-ancestors 'none'",
          'Referrer-Policy': 'no-referrer',
          'X-Content-Type-Options': 'nosniff',
        },
        proxy: { [LIVE_EVENTS]: { target: sample, rewrite: () => '/admin/live' } },
      },
    });
    const { port: listening } = server.httpServer.address() as AddressInfo;
    return { url: `http://${HOST}:${listening}/`, close: () => server.close() };
  } catch (error) {
    await forget();
    throw error;
  }
}
