import { useId } from 'preact/hooks';

interface ChoiceProps<Word extends string> {
  readonly testId: string;
  readonly label: string;
  readonly words: Readonly<Record<Word, string>>;
  readonly value: Word;
  onValue(value: Word): void;
}

/** One word of a few, all of them seen at once. */
export function Choice<Word extends string>({ testId, label, words, value, onValue }: ChoiceProps<Word>) {
  const name = useId();
  return (
    <fieldset class="choice" data-testid={testId}>
      <legend>{label}</legend>
      {(Object.entries(words) as [Word, string][]).map(([word, text]) => (
        <label key={word}>
          <input
            type="radio"
            name={name}
            value={word}
            checked={word === value}
            onChange={() => onValue(word)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
