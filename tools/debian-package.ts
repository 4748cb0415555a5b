import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemSources } from './apt-sources.js';

const exec = promisify(execFile);

const CHECKOUT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** A program of Debian's and Ubuntu's archive. */
export interface DebianPackage {
  /** What messages call it. */
  readonly name: string;
  readonly packages: readonly [string, ...string[]];
  /** Where it goes, in the checkout. */
  readonly folder: string;
  /** Whether Debian's backports may have it, or a newer one. */
  readonly backports?: boolean;
  /** Which releases have it, for when this is none of them. */
  readonly releases: string;
}

export interface UnpackedPackage {
  /** What would be `/` if it were installed. */
  readonly root: string;
  /** In which its programs find their libraries. */
  readonly env: NodeJS.ProcessEnv;
  readonly origin: string;
}

/**
 * A program as this Debian or Ubuntu has it, unpacked below a folder of the checkout: needs no root and leaves the system
 * alone. Sources, keys and proxies are those that the system's own apt is configured with.
 */
export async function unpackedPackage(wanted: DebianPackage): Promise<UnpackedPackage> {
  await Promise.all(['apt-get', 'dpkg'].map(required));
  const { ID: id, VERSION_ID: version, VERSION_CODENAME: codename } = await osRelease();
  const store = join(CHECKOUT, wanted.folder);
  // A checkout may be mounted into several systems: each one gets a folder of its own.
  const root = join(store, [id, version ?? codename, process.arch].join('-'));
  if (!(await exists(root))) {
    const backportsOf = wanted.backports && id === 'debian' ? codename : undefined;
    await unpackInto(root, store, wanted, backportsOf);
  }
  const libraries = await libraryFolders(root);
  return {
    root,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [...libraries, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(delimiter),
    },
    origin: `the distribution's package, unpacked into ${root}`,
  };
}

/** Works in a folder beside the target and renames at the end: what is half done never counts, whoever stops it. */
async function unpackInto(
  target: string,
  store: string,
  wanted: DebianPackage,
  backportsOf: string | undefined,
): Promise<void> {
  process.stderr.write(`Getting ${wanted.name}'s packages into ${target}, once (some 10 seconds) ...\n`);
  await mkdir(store, { recursive: true });
  const work = await mkdtemp(join(store, 'unpacking-'));
  try {
    const debs = await download(work, wanted, backportsOf);
    const root = join(work, 'root');
    await mkdir(root);
    await Promise.all(debs.map((deb) => exec('dpkg', ['-x', deb, root])));
    await rename(root, target);
  } catch (error) {
    // Somebody else may have been faster: theirs is as good.
    if (!(await exists(target))) throw error;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function download(
  work: string,
  { packages, releases }: DebianPackage,
  backportsOf: string | undefined,
): Promise<string[]> {
  const config = await writeAptConfig(work, await systemSources(backportsOf));
  const debs = join(work, 'debs');
  await mkdir(debs);
  // One unreachable source (a suite without backports, a dead third party) need not matter: the download decides.
  const update = await apt('apt-get', config, ['update']).catch((error: Error & { stderr: string }) => error);
  try {
    const names = [...packages, ...(await libraryPackages(config, packages))];
    await apt('apt-get', config, ['download', ...names], debs);
  } catch (error) {
    const said = [(error as Error).message, 'apt-get update said:', update.stderr || 'nothing'];
    throw new Error(`apt cannot get ${packages.join(' and ')} (${releases} have it)\n${said.join('\n')}`, {
      cause: error,
    });
  }
  return (await readdir(debs)).map((deb) => join(debs, deb));
}

/**
 * The shared libraries that the programs link to. A minimal system may lack any of them, so all are taken, except libc,
 * which must be the one that the system's loader belongs to. JavaScript of web pages (`libjs-`) is none.
 */
async function libraryPackages(config: string, packages: readonly string[]): Promise<string[]> {
  const only = [
    '--no-recommends',
    '--no-suggests',
    '--no-conflicts',
    '--no-breaks',
    '--no-replaces',
    '--no-enhances',
  ];
  const { stdout } = await apt('apt-cache', config, ['depends', ...only, ...packages]);
  const names = [...stdout.matchAll(/^ [ |]Depends: (lib(?!js-)\S+)$/gm)].map(([, name]) => name!);
  return [...new Set(names)].filter((name) => name !== 'libc6');
}

/** An apt of our own: its lists, cache and idea of what is installed lie in the work folder. */
async function writeAptConfig(work: string, sources: string): Promise<string> {
  const config = join(work, 'apt.conf');
  await mkdir(join(work, 'lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'sources'));
  await writeFile(join(work, 'sources/system.sources'), sources);
  await writeFile(join(work, 'status'), '');
  await writeFile(
    config,
    [
      '#clear APT::Update;', // hooks that would work on the system, and as root
      `Dir::State "${work}";`,
      `Dir::State::lists "${work}/lists";`,
      `Dir::State::status "${work}/status";`,
      `Dir::Cache "${work}/cache";`,
      'Dir::Etc::sourcelist "/dev/null";',
      `Dir::Etc::sourceparts "${work}/sources";`,
      'Dir::Etc::preferences "/dev/null";',
      'Dir::Etc::preferencesparts "/dev/null";',
      'APT::Sandbox::User "root";', // apt's own user may not write into the checkout
      '#clear Acquire::Languages;',
      'Acquire::Languages { "none"; };',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
    ].join('\n') + '\n',
  );
  return config;
}

function apt(command: string, config: string, args: readonly string[], cwd?: string) {
  return exec(command, ['-c', config, ...args], {
    cwd,
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 2 ** 26,
  });
}

async function libraryFolders(root: string): Promise<string[]> {
  const folders = ['usr/lib', 'lib'].map(async (base) => {
    const names = await readdir(join(root, base)).catch(() => []);
    return names.filter((name) => name.includes('-linux-')).map((name) => join(root, base, name));
  });
  return (await Promise.all(folders)).flat();
}

async function osRelease(): Promise<Record<string, string>> {
  const text = await readFile('/etc/os-release', 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(([, name, value]) => [name, value]),
  );
}

async function required(command: string): Promise<void> {
  await exec(command, ['--version']).catch(() => {
    throw new Error(`only for Debian and Ubuntu, and there is no ${command} here`);
  });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
