import { readFile } from 'node:fs/promises';

/** The rights that the guide names in the line that begins with `ACL SETUSER` and the user. */
export async function rightsOf(user: string): Promise<string[]> {
  const guide = await readFile(new URL('../../docs/failure.md', import.meta.url), 'utf8');
  const line = new RegExp(`^ACL SETUSER ${user} (.*)$`, 'm').exec(guide);
  if (line === null) throw new Error(`docs/failure.md has no line "ACL SETUSER ${user}".`);
  return line[1]!.split(' ');
}
