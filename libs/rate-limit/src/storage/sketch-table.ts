/** Where processes leave what each of them has seen, for the others: a text of each, for a while. */
export interface SketchTable {
  /**
   * Leaves a text, in the place of the one before.
   *
   * @param about what it is about
   * @param from who leaves it
   * @param ttlMs for how long it is kept
   * @throws {StoreUnavailableError} (rejects) when the store did not answer
   */
  write(about: string, from: string, text: string, ttlMs: number): Promise<void>;

  /**
   * What all have left, by who left it.
   *
   * @throws {StoreUnavailableError} (rejects) when the store did not answer
   */
  read(about: string): Promise<ReadonlyMap<string, string>>;
}
