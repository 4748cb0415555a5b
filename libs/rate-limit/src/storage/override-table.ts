/** What is kept for a field, as text. */
export type Fields = ReadonlyMap<string, string>;

/** A version of the table and all that is in it. */
export interface Snapshot {
  readonly version: string;
  readonly fields: Fields;
}

/** Where numbers that were changed while running are kept, for all instances: fields with texts, and a version. */
export interface OverrideTable {
  /** Whether others can write to it. */
  readonly shared: boolean;

  /**
   * What is in it, unless it still has the version that is known.
   *
   * @throws {StoreUnavailableError} (rejects) when the store did not answer within its deadline
   */
  read(known: string): Promise<Snapshot | undefined>;

  /**
   * Writes a field, or removes it where `text` is left out; `gone` are removed as well.
   *
   * @param most how many fields there may be
   * @returns whether there was room for it
   * @throws {StoreUnavailableError} (rejects) when the store did not answer within its deadline: it may be written
   */
  write(field: string, text: string | undefined, gone: readonly string[], most: number): Promise<boolean>;
}
