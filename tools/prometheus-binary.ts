import { dirname, isAbsolute, join } from 'node:path';
import { findProgram, type Program } from './find-program.js';

/** How to start a real Prometheus. */
export interface PrometheusCommand extends Program {
  /** The tool that comes with it, to start in the same environment. */
  readonly promtool: string;
}

let found: Promise<PrometheusCommand> | undefined;

/** Finds a real Prometheus, or gets one; looks once in a process. The error tells why each way failed. */
export function findPrometheus(): Promise<PrometheusCommand> {
  return (found ??= search());
}

async function search(): Promise<PrometheusCommand> {
  const program = await findProgram({
    command: 'prometheus',
    package: {
      name: 'Prometheus',
      packages: ['prometheus'],
      folder: '.prometheus',
      releases: 'Debian 12, Ubuntu 24.04 or newer',
    },
    file: 'usr/bin/prometheus',
    versionArgs: ['--version'],
    version: /^prometheus, version (\S+)/m,
    install: 'Debian and Ubuntu: apt install prometheus, macOS: brew install prometheus',
  });
  const { command } = program;
  return { ...program, promtool: isAbsolute(command) ? join(dirname(command), 'promtool') : 'promtool' };
}
