import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { BadOptionError } from '../bad-option.js';
import { outFolder } from '../picture/out-folder.js';

interface ServeCommandOptions {
  readonly port: string;
  readonly sample: string;
}

const MOST_PORT = 65_535;

/** Adds the commands that have to do with the page. What builds it is loaded when it is wanted. */
export function addPageCommands(lab: Command): void {
  lab
    .command('serve')
    .description('show the page: the algorithms side by side, and a live view of a running sample')
    .addOption(new Option('--port <port>', 'where to listen, on 127.0.0.1; 0 is any').default('4173'))
    .addOption(
      new Option('--sample <url>', 'the sample whose live view is shown').default('http://127.0.0.1:3000'),
    )
    .action(serve);
  lab
    .command('build')
    .description('build the page into a folder, for any server of files')
    .requiredOption('--out <folder>', 'where to put it: a new or an empty folder')
    .action(build);
}

async function build({ out }: { readonly out: string }): Promise<void> {
  await outFolder(out);
  // What stands there may be anybody's, and files of an older page would stay beside the new ones.
  if ((await readdir(out)).length > 0) {
    throw new BadOptionError(`--out ${out} has something in it. Name a new folder, or empty that one.`);
  }
  const { buildPage } = await import('./build-page.js');
  await buildPage(out);
  process.stdout.write(
    `${join(out, 'index.html')} is the page. Serve the folder: from files, browsers load no modules.\n`,
  );
}

async function serve(options: ServeCommandOptions): Promise<void> {
  const asked = { port: readPort(options.port), sample: readOrigin(options.sample) };
  const { servePage } = await import('./serve-page.js');
  const { url, close } = await servePage(asked);
  process.stdout.write(`${url} shows the algorithms, ${url}live.html the sample at ${asked.sample}\n`);
  process.once('SIGINT', () => void close().finally(() => process.exit(130)));
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MOST_PORT) return port;
  throw new BadOptionError(`--port is a whole number from 0 to ${MOST_PORT}, not "${text}".`);
}

function readOrigin(text: string): string {
  const { protocol, origin } = URL.canParse(text) ? new URL(text) : { protocol: '', origin: '' };
  if (protocol === 'http:' || protocol === 'https:') return origin;
  throw new BadOptionError(`--sample is an address such as http://127.0.0.1:3000, not "${text}".`);
}
