import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** Release, file and number of an entry in apt's configuration, in the format asked for below. */
const ENTRY = /^(?:main|universe) (\S+) (.+):(\d+)$/gm;

/**
 * The system's own entries for its main archive (address, key and options as the administrator wrote them), and, for
 * a codename, the same again with its backports in place of their suites.
 */
export async function systemSources(codename: string | undefined): Promise<string> {
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
