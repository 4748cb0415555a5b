import { useId, useState } from 'preact/hooks';
import { useLook } from '../shell.js';

interface TokenFormProps {
  readonly isConnected: boolean;
  connect(token: string): void;
  disconnect(): void;
}

/** Asks for the admin's token. It is sent to this page's own server, which passes it on to the sample, and kept nowhere. */
export function TokenForm({ isConnected, connect, disconnect }: TokenFormProps) {
  const { live: texts } = useLook().texts;
  const id = useId();
  const [token, setToken] = useState('');
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        if (isConnected) {
          disconnect();
          setToken('');
        } else if (token !== '') connect(token);
      }}
    >
      <label for={id}>{texts.token}</label>
      <input
        id={id}
        type="password"
        data-testid="token"
        autocomplete="off"
        dir="ltr"
        required
        // Disabled, it would lose the focus when somebody presses Enter in it.
        readOnly={isConnected}
        aria-describedby={`${id}-hint`}
        value={token}
        onInput={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <button type="submit" class="primary" data-testid="connect">
        {isConnected ? texts.disconnect : texts.connect}
      </button>
      <p id={`${id}-hint`} class="hint">
        {texts.tokenHint}
      </p>
    </form>
  );
}
