/** E.164: the country and the number, 7 to 15 digits in all. */
const PHONE = /^\+[1-9]\d{6,14}$/;

/** The phone number in a body, in one spelling, so that nobody gets more by adding blanks. */
export function phoneIn(body: unknown): string | undefined {
  const { phone } = (body ?? {}) as { phone?: unknown };
  if (typeof phone !== 'string') return undefined;
  const digits = phone.replace(/[ ()./-]/g, '');
  return PHONE.test(digits) ? digits : undefined;
}
