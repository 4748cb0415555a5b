import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);

const STORE = join(dirname(fileURLToPath(import.meta.url)), '..', '.valkey');
/** In Debian valkey-server is a link to a binary of valkey-tools, which also brings valkey-cli. */
const PACKAGES = ['valkey-server', 'valkey-tools'];
/** Release, file and number of an entry in apt's configuration, in the format asked for below. */
const ENTRY = /^(?:main|universe) (\S+) (.+):(\d+)$/gm;

/**
 * The Valkey of this Debian or Ubuntu, unpacked below `.valkey/` in the checkout: needs no root and leaves the system
 * alone. Sources, keys and proxies are those that the system's own apt is configured with.
 */
export async function unpackedValkey() {
  await Promise.all(['apt-get', 'dpkg'].map(required));
  const { ID: id, VERSION_ID: version, VERSION_CODENAME: codename } = await osRelease();
  // A checkout may be mounted into several systems: each one gets a folder of its own.
  const target = join(STORE, [id, version ?? codename, process.arch].join('-'));
  if (!(await exists(target))) await unpackInto(target, id === 'debian' ? codename : undefined);
  const libraries = await libraryFolders(target);
  return {
    command: join(target, 'usr/bin/valkey-server'),
    args: [],
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [...libraries, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(delimiter),
    },
    origin: `the distribution's package, unpacked into ${target}`,
  };
}

/** Works in a folder beside the target and renames at the end: what is half done never counts, whoever stops it. */
async function unpackInto(target: string, backportsOf: string | undefined): Promise<void> {
  process.stderr.write(`Getting Valkey's packages into ${target}, once (some 10 seconds) ...\n`);
  await mkdir(STORE, { recursive: true });
  const work = await mkdtemp(join(STORE, 'unpacking-'));
  try {
    const debs = await download(work, backportsOf);
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

async function download(work: string, backportsOf: string | undefined): Promise<string[]> {
  const config = await writeAptConfig(work, await systemSources(backportsOf));
  const debs = join(work, 'debs');
  await mkdir(debs);
  // One unreachable source (a suite without backports, a dead third party) need not matter: the download decides.
  const update = await apt('apt-get', config, ['update']).catch((error: Error & { stderr: string }) => error);
  try {
    const names = [...PACKAGES, ...(await libraryPackages(config))];
    await apt('apt-get', config, ['download', ...names], debs);
  } catch (error) {
    const said = [(error as Error).message, 'apt-get update said:', update.stderr || 'nothing'];
    throw new Error(
      `apt cannot get ${PACKAGES.join(' and ')} (Debian 12, Ubuntu 24.04 or newer have them)\n${said.join('\n')}`,
      { cause: error },
    );
  }
  return (await readdir(debs)).map((deb) => join(debs, deb));
}

/**
 * The shared libraries the server links to. A minimal system may lack any of them, so all are taken, except libc,
 * which must be the one that the system's loader belongs to.
 */
async function libraryPackages(config: string): Promise<string[]> {
  const only = [
    '--no-recommends',
    '--no-suggests',
    '--no-conflicts',
    '--no-breaks',
    '--no-replaces',
    '--no-enhances',
  ];
  const { stdout } = await apt('apt-cache', config, ['depends', ...only, ...PACKAGES]);
  const names = [...stdout.matchAll(/^ [ |]Depends: (lib\S+)$/gm)].map(([, name]) => name!);
  return [...new Set(names)].filter((name) => name !== 'libc6');
}

/** An apt of our own: its lists, cache and idea of what is installed lie in the work folder. */
async function writeAptConfig(work: string, sources: string): Promise<string> {
  const config = join(work, 'apt.conf');
  await mkdir(join(work, 'lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'sources'));
  await writeFile(join(work, 'sources/valkey.sources'), sources);
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

/**
 * The system's own entries for its main archive (address, key and options as the administrator wrote them), and, for
 * a codename, the same again with its backports in place of their suites.
 */
async function systemSources(codename: string | undefined): Promise<string> {
  // Without release info apt also names the sources it has no lists of yet, as in a fresh container image.
  const query = [
    '--no-release-info',
    '--format',
    '$(COMPONENT) $(RELEASE) $(SOURCESENTRY)',
    'Created-By: Packages',
  ];
  const { stdout } = await exec('apt-get', ['indextargets', ...query]);
  const stanzas = new Set<string>();
  await Promise.all(
    [...stdout.matchAll(ENTRY)].map(async ([, release = '', file = '', number]) => {
      const stanza = sourceStanza(file, await readFile(file, 'utf8'), Number(number));
      stanzas.add(stanza);
      const isMain = release === codename || /^(?:old)*stable$/.test(release); // not -updates, not -security
      if (codename && isMain) stanzas.add(withSuite(stanza, `${codename}-backports`));
    }),
  );
  if (stanzas.size === 0)
    throw new Error('apt has no source with a component main or universe: see /etc/apt');
  return [...stanzas].join('\n\n') + '\n';
}

/**
 * One entry of apt's configuration as a deb822 stanza. `number` is what apt calls it by: the line in a one-line
 * style `.list`, the stanza in a `.sources`.
 */
function sourceStanza(file: string, text: string, number: number): string {
  const wanted = file.endsWith('.sources')
    ? stanzaOf(text, number)
    : stanzaOfLine(text.split('\n')[number - 1] ?? '');
  if (!wanted) throw new Error(`entry ${number} of ${file} is none that this understands`);
  // A desktop's apt would also fetch icons and lists of files.
  return /^Targets:/im.test(wanted) ? wanted : `${wanted}\nTargets: Packages`;
}

function stanzaOf(text: string, number: number): string | undefined {
  const stanzas = text.replace(/^#.*\n?/gm, '').split(/\n\s*\n/);
  const stanza = stanzas.map((each) => each.trim()).filter(Boolean)[number - 1];
  return stanza?.replace(/^Types:.*$/im, 'Types: deb');
}

/** `deb [signed-by=/a.gpg arch=amd64,arm64] https://mirror/debian bookworm main contrib` */
function stanzaOfLine(line: string): string | undefined {
  const [, options = '', uri, suite, components] =
    /^\s*deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s+([^#]+)/.exec(line) ?? [];
  if (!uri || !suite || !components) return undefined;
  const names: Record<string, string> = { arch: 'Architectures', lang: 'Languages', target: 'Targets' };
  const fields = options
    .split(/\s+/)
    .filter(Boolean)
    .map((option) => {
      const [name = '', value = ''] = option.split(/=(.*)/);
      return `${names[name] ?? name}: ${value.replaceAll(',', ' ')}`;
    });
  return [
    'Types: deb',
    `URIs: ${uri}`,
    `Suites: ${suite}`,
    `Components: ${components.trim()}`,
    ...fields,
  ].join('\n');
}

function withSuite(stanza: string, suite: string): string {
  return stanza.replace(/^Suites:.*(?:\n[ \t].*)*/im, `Suites: ${suite}`);
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
