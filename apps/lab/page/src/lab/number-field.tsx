import { useEffect, useId, useState } from 'preact/hooks';

interface NumberFieldProps {
  readonly testId: string;
  readonly label: string;
  readonly hint: string;
  readonly error: string;
  readonly value: number | undefined;
  readonly most: number;
  /** May be left empty. */
  readonly isOptional?: boolean;
  onValue(value: number | undefined): void;
}

/** A whole number from 1. What is none is marked, and changes nothing. */
export function NumberField({
  testId,
  label,
  hint,
  error,
  value,
  most,
  isOptional = false,
  onValue,
}: NumberFieldProps) {
  const id = useId();
  const written = value === undefined ? '' : String(value);
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const isWrong = read(text) === 'wrong';

  function read(entered: string): number | undefined | 'wrong' {
    const trimmed = entered.trim();
    if (trimmed === '' && isOptional) return undefined;
    const number = Number(trimmed);
    return /^\d+$/.test(trimmed) && number >= 1 && number <= most ? number : 'wrong';
  }

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        data-testid={testId}
        inputMode="numeric"
        autocomplete="off"
        dir="ltr"
        value={text}
        aria-invalid={isWrong}
        aria-describedby={`${id}-says`}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          const entered = read(currentTarget.value);
          if (entered !== 'wrong') onValue(entered);
        }}
      />
      <p id={`${id}-says`} class={isWrong ? 'error' : 'hint'} role={isWrong ? 'alert' : undefined}>
        {isWrong ? error : hint}
      </p>
    </div>
  );
}
