import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DebianPackage, unpackedPackage } from './debian-package.js';

/** How to start a real program. */
export interface Program {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where it was found, in words for a person. */
  readonly origin: string;
  readonly version: string;
}

export interface WantedProgram {
  /** What it is called on the PATH. */
  readonly command: string;
  readonly package: DebianPackage;
  /** Where the package has it, such as `usr/bin/program`. */
  readonly file: string;
  /** Makes it tell its version. */
  readonly versionArgs: readonly string[];
  /** The version in what it says then. */
  readonly version: RegExp;
  /** What a person may do about a program that is not there. */
  readonly install: string;
}

type Candidate = Omit<Program, 'version'>;

const exec = promisify(execFile);

/** Finds a real program, or gets it. The error tells why each way failed. */
export async function findProgram(wanted: WantedProgram): Promise<Program> {
  const { command, package: from, install } = wanted;
  const failures: string[] = [];
  for (const [way, candidate] of [
    [`${command} on the PATH`, onPath],
    [`the distribution's package, unpacked into ${from.folder}/`, unpacked],
  ] as const) {
    try {
      return await tried(await candidate(wanted), wanted);
    } catch (error) {
      failures.push(`- ${way}: ${messageOf(error)}`);
    }
  }
  throw new Error(
    `No ${command} was found, and none could be got. Tried:\n${failures.join('\n')}\n` +
      `Install ${command} so that it is on the PATH (${install}).`,
  );
}

function onPath({ command }: WantedProgram): Candidate {
  return { command, env: process.env, origin: `${command} on the PATH` };
}

async function unpacked({ package: from, file }: WantedProgram): Promise<Candidate> {
  const { root, env, origin } = await unpackedPackage(from);
  return { command: join(root, file), env, origin };
}

/** Proves that the candidate runs, by asking its version. */
async function tried(candidate: Candidate, { versionArgs, version }: WantedProgram): Promise<Program> {
  const { command, env } = candidate;
  const { stdout, stderr } = await exec(command, [...versionArgs], { env });
  const said = stdout + stderr;
  const [, found] = version.exec(said) ?? [];
  if (!found) throw new Error(`${command} ${versionArgs.join(' ')} printed no version: ${said.trim()}`);
  return { ...candidate, version: found };
}

function messageOf(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path) return `there is no ${path}`;
  return message.trim().replaceAll('\n', '\n  ');
}
