import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { startValkey } from './local-valkey.js';

const USAGE = `Usage: tsx tools/with-valkey.ts COMMAND [ARGUMENT...]

Starts a local Valkey, runs COMMAND with its address in VALKEY_URL, and ends both together.
`;

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  process.stderr.write(USAGE);
  process.exit(2);
}
const valkey = await startValkey().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
process.stderr.write(`${valkey.name} ${valkey.version} at ${valkey.url} (${valkey.origin})\n`);
try {
  process.exitCode = await run(command, args, { ...process.env, VALKEY_URL: valkey.url });
} finally {
  await valkey.stop();
}

/** The command's exit code, in the way of shells: 128 + signal when killed, 127 when it could not be started. */
function run(name: string, parameters: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(name, parameters, { env, stdio: 'inherit' });
    forwardSignals((signal) => child.kill(signal));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
    child.once('error', (error) => {
      process.stderr.write(`Cannot run ${name}: ${error.message}\n`);
      resolve(127);
    });
  });
}

function forwardSignals(forward: (signal: NodeJS.Signals) => void): void {
  // A terminal sends Ctrl-C to the command as well, and a second SIGINT would cut its graceful shutdown short.
  const atTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  process.on('SIGINT', () => {
    if (!atTerminal) forward('SIGINT');
  });
  process.on('SIGTERM', () => forward('SIGTERM'));
}
