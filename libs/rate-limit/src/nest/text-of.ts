/** A value from a request as a text to count by: what is no text, number or boolean is nobody, and so is NaN. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (Number.isNaN(value)) return undefined;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  return undefined;
}
