/** Ends what the setup has started. In watch mode the next run then starts one of its own again. */
export default async function teardown() {
  if (!globalThis.testValkey) return;
  await globalThis.testValkey.stop();
  delete globalThis.testValkey;
  delete process.env.TEST_VALKEY_URL;
}
