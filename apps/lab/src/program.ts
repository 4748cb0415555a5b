import { Command, CommanderError, Option } from 'commander';
import { adaptive, adaptiveTable } from './adaptive/adaptive.js';
import { BadOptionError } from './bad-option.js';
import { compare, comparisonTable } from './compare.js';
import { memory, memoryTable } from './memory/memory.js';
import { addPageCommands } from './page/commands.js';
import { openMemory, openValkey, type Place, type Store, type ValkeyPlace } from './place.js';
import { drawAll, pictureTable } from './picture/draw-all.js';
import { type Progress, terminalProgress } from './progress.js';
import { race, raceTable } from './race/race.js';
import { addReplayCommands } from './replay/commands.js';

interface Options {
  readonly store: Store;
  readonly json?: true;
}

interface PictureOptions extends Options {
  readonly out: string;
}

const BAD_USAGE = 2;

/** The exit code of the signal that is ending this process. */
let ending: number | undefined;

/** Runs a command line and returns the exit code: 0, 1 where the work failed, 2 where it was asked for wrongly. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // It has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_USAGE;
    // What fails because its server was taken away is no news.
    if (ending !== undefined) return ending;
    process.stderr.write(`error: ${(error as Error).message}\n`);
    return error instanceof BadOptionError ? BAD_USAGE : 1;
  }
}

function program(): Command {
  const lab = new Command('lab')
    .description(
      'The laboratory: the algorithms under the same traffic, on the scales, in a race, in pictures, in a simulation and on your own logs.',
    )
    .usage('COMMAND [options]')
    .exitOverride()
    .showHelpAfterError('(lab --help shows what there is)')
    .addHelpText(
      'after',
      '\nVALKEY_URL names the Valkey to use. Without it, one is started and ended again.',
    );

  lab
    .command('compare')
    .description('replay the same traffic through five algorithms, 10 requests per 10 s')
    .addOption(storeOption('memory'))
    .addOption(jsonOption())
    .action((options: Options) => inPlace(options, compare, comparisonTable));
  lab
    .command('memory')
    .description("weigh one client's state in Valkey, beside plain layouts; needs a Valkey")
    .addOption(storeOption('valkey'))
    .addOption(jsonOption())
    .action((options: Options) => inValkey('memory', options, memory, memoryTable));
  lab
    .command('race')
    .description('many requests at once, from one process and from four; needs a Valkey')
    .addOption(storeOption('valkey'))
    .addOption(jsonOption())
    .action((options: Options) => inValkey('race', options, race, raceTable));
  lab
    .command('picture')
    .description('draw what each algorithm decides, as an SVG file')
    .requiredOption('--out <folder>', 'where to put the files')
    .addOption(storeOption('memory'))
    .addOption(jsonOption())
    .action((options: PictureOptions) =>
      inPlace(options, (place, progress) => drawAll(place, progress, options.out), pictureTable),
    );
  lab
    .command('adaptive')
    .description('let a limit find out what a simulated backend can bear, while that changes')
    .addOption(jsonOption())
    .action((options: Pick<Options, 'json'>) => perform(openMemory(), options, adaptive, adaptiveTable));
  addPageCommands(lab);
  addReplayCommands(lab, (options, experiment, toTable) =>
    perform(openMemory(), options, experiment, toTable),
  );
  return lab;
}

function storeOption(fallback: Store): Option {
  return new Option('--store <store>', 'where to count').choices(['memory', 'valkey']).default(fallback);
}

function jsonOption(): Option {
  return new Option('--json', 'print one JSON document instead of a table');
}

type Experiment<P extends Place, Result> = (place: P, progress: Progress) => Promise<Result>;

async function inPlace<Result>(
  options: Options,
  experiment: Experiment<Place, Result>,
  toTable: (result: Result) => string,
): Promise<void> {
  if (options.store === 'valkey') return perform(await ownedValkey(), options, experiment, toTable);
  return perform(openMemory(), options, experiment, toTable);
}

async function inValkey<Result>(
  command: string,
  options: Options,
  experiment: Experiment<ValkeyPlace, Result>,
  toTable: (result: Result) => string,
): Promise<void> {
  if (options.store === 'memory') {
    throw new BadOptionError(
      `"lab ${command}" needs a Valkey, and --store memory has none. Leave --store out: a Valkey is started, or that ` +
        'of VALKEY_URL is used.',
    );
  }
  return perform(await ownedValkey(), options, experiment, toTable);
}

/** A Valkey that ends with this process, also when somebody presses Ctrl-C. */
async function ownedValkey(): Promise<ValkeyPlace> {
  const place = await openValkey(process.env['VALKEY_URL']);
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      ending = exitCode;
      void place.close().finally(() => process.exit(exitCode));
    });
  }
  return place;
}

async function perform<P extends Place, Result>(
  place: P,
  { json }: Pick<Options, 'json'>,
  experiment: Experiment<P, Result>,
  toTable: (result: Result) => string,
): Promise<void> {
  const progress = terminalProgress(process.stderr);
  let result: Result;
  try {
    result = await experiment(place, progress);
  } finally {
    progress.done();
    await place.close();
  }
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : toTable(result)}\n`);
}
