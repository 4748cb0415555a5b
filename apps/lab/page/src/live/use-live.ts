import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { LiveSnapshot } from '../../../../api/src/live-view/live-snapshot.js';
import { type Connection, follow } from './follow.js';
import { type Moment, remember } from './history.js';

/** What this page's own server passes on to the sample. */
const EVENTS = './live-events';

export interface Live {
  /** `undefined` before somebody has given a token. */
  readonly connection: Connection | undefined;
  readonly snapshot: LiveSnapshot | undefined;
  readonly history: readonly Moment[];
  readonly isFrozen: boolean;
  connect(token: string): void;
  disconnect(): void;
  setFrozen(isFrozen: boolean): void;
}

/** Follows the sample. The token is in memory only, and is forgotten with the page. */
export function useLive(): Live {
  const [connection, setConnection] = useState<Connection | undefined>(undefined);
  const [seen, setSeen] = useState<Pick<Live, 'snapshot' | 'history'>>({ snapshot: undefined, history: [] });
  const [frozen, freeze] = useState<typeof seen | undefined>(undefined);
  const following = useRef<AbortController | undefined>(undefined);

  const disconnect = useCallback(() => {
    following.current?.abort();
    setConnection(undefined);
    freeze(undefined);
  }, []);
  const connect = useCallback((token: string) => {
    following.current?.abort();
    const abort = new AbortController();
    following.current = abort;
    setSeen({ snapshot: undefined, history: [] });
    void follow({
      url: EVENTS,
      token,
      signal: abort.signal,
      onConnection: (next) => !abort.signal.aborted && setConnection(next),
      onSnapshot: (snapshot) =>
        setSeen(({ history }) => ({ snapshot, history: remember(history, snapshot) })),
    });
  }, []);
  useEffect(() => () => following.current?.abort(), []);

  return {
    connection,
    ...(frozen ?? seen),
    isFrozen: frozen !== undefined,
    connect,
    disconnect,
    setFrozen: (isFrozen) => freeze(isFrozen ? seen : undefined),
  };
}
