import type { LoggerService } from '@nestjs/common';
import type { TestingModuleBuilder } from '@nestjs/testing';

/** Keeps what the limiter logs, instead of printing it. */
export class LimiterLogs implements LoggerService {
  readonly lines: string[] = [];

  /** For `startApp(…, { module: logs.install })`. */
  readonly install = (builder: TestingModuleBuilder): TestingModuleBuilder => builder.setLogger(this);

  log = this.#keep('log');
  warn = this.#keep('warn');
  error = this.#keep('error');
  fatal = this.#keep('fatal');

  #keep(level: string) {
    return (message: unknown, ...rest: unknown[]) => {
      if (rest.at(-1) === 'RateLimit') this.lines.push(`${level}: ${String(message)}`);
    };
  }
}
