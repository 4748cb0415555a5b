/** Where most lie. */
export interface Peak {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** The stretch of that length, its end left out, in which most of these times lie: the first of several. */
export function peakOf(times: readonly number[], lengthMs: number): Peak {
  const sorted = times.toSorted((one, other) => one - other);
  let best: Peak = { from: 0, to: lengthMs, count: 0 };
  for (let first = 0, end = 0; first < sorted.length; first += 1) {
    const from = sorted[first]!;
    while (end < sorted.length && sorted[end]! < from + lengthMs) end += 1;
    if (end - first > best.count) best = { from, to: from + lengthMs, count: end - first };
  }
  return best;
}
