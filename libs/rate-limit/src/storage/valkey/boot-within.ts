/** How long one attempt to connect may take. */
export const CONNECT_TIMEOUT_MS = 1_000;

/** How long a boot may wait: for one who does not answer, and then another. */
const BOOT_TIMEOUT_MS = 2 * CONNECT_TIMEOUT_MS;

/**
 * Waits for a connection, but not for ever: Sentinels are asked until one answers, and a frozen node of a Cluster says
 * nothing at all. The client goes on trying.
 *
 * @param reason the last thing that went wrong
 */
export async function bootWithin(
  connecting: Promise<unknown>,
  reason: () => Error | undefined,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const expire = () => reject(reason() ?? new Error(`no connection within ${BOOT_TIMEOUT_MS} ms`));
    timer = setTimeout(expire, BOOT_TIMEOUT_MS);
  });
  try {
    await Promise.race([connecting, timeout]);
  } finally {
    clearTimeout(timer);
    connecting.catch(() => undefined); // nobody listens any more
  }
}
