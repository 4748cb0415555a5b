import type { ChartLabels } from '../../../src/side-by-side/chart.js';
import type { Texts } from '../texts/en.js';

/** The words of a language that stand in pictures. */
export function labelsOf({ lab, seconds }: Texts, direction: 'ltr' | 'rtl'): ChartLabels {
  // A picture has no direction of its own: what goes from right to left has to say so (Unicode's RLI and PDI).
  const isolated = (text: string) => (direction === 'rtl' ? `\u2067${text}\u2069` : text);
  return {
    seconds: (ms) => isolated(seconds(ms)),
    used: lab.used,
    reached: isolated(lab.reached),
    client: (index) => isolated(lab.client(index)),
    worstSecond: (count) => isolated(lab.worstSecondMark(count)),
  };
}
