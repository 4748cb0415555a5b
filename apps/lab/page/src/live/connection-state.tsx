import { useEffect, useState } from 'preact/hooks';
import { useLook } from '../shell.js';
import type { Connection } from './follow.js';

/** How it is with the connection. Only a change is read out, not the seconds that pass. */
export function ConnectionState({ connection }: { readonly connection: Connection | undefined }) {
  const { live: texts, seconds } = useLook().texts;
  const now = useNow(connection?.state === 'lost');
  if (connection === undefined) return <p role="status" data-testid="connection" />;
  const { state } = connection;
  return (
    <div class={`connection ${state}`}>
      <p role="status" data-testid="connection" data-state={state}>
        {state === 'lost' && texts.lost[connection.why]}
        {state === 'refused' && texts.refused[connection.why]}
        {(state === 'connecting' || state === 'live') && texts.states[state]}
      </p>
      {state === 'lost' && (
        <p aria-hidden="true">
          {texts.again(seconds(Math.max(0, Math.ceil((connection.againAt - now) / 1_000)) * 1_000))}
        </p>
      )}
    </div>
  );
}

function useNow(isWanted: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isWanted) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isWanted]);
  return now;
}
