export function amount(number: number): string {
  return number.toLocaleString('en-US');
}

/** So many of so many, and as a share that is never rounded to none or to all. */
export function share(part: number, whole: number): string {
  return `${amount(part)} of ${amount(whole)} (${percent(whole === 0 ? 0 : part / whole)})`;
}

export function percent(ratio: number): string {
  const tenths = Math.round(ratio * 1_000) / 10;
  if (ratio > 0 && tenths === 0) return '< 0.1 %';
  if (ratio < 1 && tenths === 100) return '> 99.9 %';
  return `${tenths} %`;
}

/** Clients choose what stands in a log: a control character could rewrite the terminal. */
export function visible(text: string): string {
  return text.replaceAll(
    /\p{Cc}/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
