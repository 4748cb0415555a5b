/** What was asked for cannot be done: the command ends with exit code 2, as for a misspelt option. */
export class BadOptionError extends Error {
  override readonly name = 'BadOptionError';
}
