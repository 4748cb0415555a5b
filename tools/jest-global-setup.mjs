// Plain JavaScript, because Jest turns a TypeScript hook into CommonJS and then finds none of its imports.
import { tsImport } from 'tsx/esm/api';

/** One Valkey for the whole run, in TEST_VALKEY_URL. One that is named there already is used as it is. */
export default async function setup() {
  const given = process.env.TEST_VALKEY_URL;
  if (given) {
    // The part after the credentials, which belong in no log.
    process.stderr.write(`Valkey for the tests: ${given.replace(/\/\/.*@/, '//')} (TEST_VALKEY_URL)\n`);
    return;
  }
  const { startValkey } = await tsImport('./local-valkey.ts', import.meta.url);
  const valkey = await startValkey();
  globalThis.testValkey = valkey; // for the teardown, which runs in this process too
  process.env.TEST_VALKEY_URL = valkey.url;
  process.stderr.write(`Valkey for the tests: ${valkey.name} ${valkey.version} (${valkey.origin})\n`);
}
