import { findProgram, type Program } from './find-program.js';

/** How to start a real nginx. */
export type NginxCommand = Program;

let found: Promise<NginxCommand> | undefined;

/** Finds a real nginx, or gets one; looks once in a process. The error tells why each way failed. */
export function findNginx(): Promise<NginxCommand> {
  return (found ??= findProgram({
    command: 'nginx',
    package: {
      name: 'nginx',
      packages: ['nginx'],
      folder: '.nginx',
      releases: 'Debian 12, Ubuntu 24.04 or newer',
    },
    file: 'usr/sbin/nginx',
    versionArgs: ['-v'],
    version: /^nginx version: nginx\/(\S+)/m,
    install: 'Debian and Ubuntu: apt install nginx-core, macOS: brew install nginx',
  }));
}
