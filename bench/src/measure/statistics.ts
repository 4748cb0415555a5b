/** Figures of one round, by the name of their column. */
export type Round = Readonly<Record<string, number>>;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Of each figure on its own. */
export function medianRound(rounds: readonly Round[]): Round {
  const names = new Set(rounds.flatMap(Object.keys));
  return Object.fromEntries(
    [...names].map((name) => [name, median(rounds.flatMap((round) => round[name] ?? []))]),
  );
}

/**
 * How a figure stands to that of another row: the median of what each round says, because rounds that were measured one
 * after the other share what the machine was doing then, and rounds minutes apart do not.
 */
export function ratio(rounds: readonly Round[], base: readonly Round[], name: string): number | undefined {
  const ratios = rounds.flatMap((round, index) => {
    const below = base[index]?.[name];
    const above = round[name];
    return above === undefined || !below ? [] : above / below;
  });
  return ratios.length > 0 ? median(ratios) : undefined;
}
