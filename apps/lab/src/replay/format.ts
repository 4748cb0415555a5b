/** One request of a log. */
export interface LogRequest {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Who is counted; `undefined` where the line does not say. */
  readonly key: string | undefined;
}

/** A way to write logs. */
export interface Format {
  readonly name: 'common' | 'json';
  /**
   * It was found out that a log is written so.
   *
   * @throws {BadOptionError} where that cannot be what was asked for
   */
  begin(): void;
  /** `undefined` for what is no line of this format. Never throws. */
  parse(line: string): LogRequest | undefined;
}
