/** What a long run is at, for whoever waits at a terminal. */
export interface Progress {
  say(what: string): void;
  done(): void;
}

const CLEAR_LINE = '\r\u001B[2K';

/** One line that replaces itself, on a terminal only: a pipe or a log would keep every state of it. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return silentProgress;
  return {
    say: (what) => void stream.write(`${CLEAR_LINE}${what} …`),
    done: () => void stream.write(CLEAR_LINE),
  };
}

export const silentProgress: Progress = { say: () => undefined, done: () => undefined };
