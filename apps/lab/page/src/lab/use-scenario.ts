import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Scenario } from '../../../src/side-by-side/scenario.js';
import { fromQuery, toQuery } from '../../../src/side-by-side/share.js';

const read = () => fromQuery(new URLSearchParams(location.search));

/** The scenario that the address holds. A change of either is one of the other. */
export function useScenario(): readonly [Scenario, (changes: Partial<Scenario>) => void] {
  const [scenario, setScenario] = useState(read);

  useEffect(() => {
    const back = () => setScenario(read());
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);

  const change = useCallback((changes: Partial<Scenario>) => {
    setScenario((before) => {
      const after = { ...before, ...changes };
      const query = toQuery(after);
      const language = new URLSearchParams(location.search).get('lang');
      if (language !== null) query.set('lang', language);
      history.replaceState(null, '', `?${query}`);
      return after;
    });
  }, []);
  return [scenario, change];
}
