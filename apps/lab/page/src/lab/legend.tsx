import { useLook } from '../shell.js';

const MARKS = {
  allowed: <circle cx="6" cy="6" r="4" />,
  waiting: <path d="M6 1l5 5-5 5-5-5z" />,
  refused: <path d="M2 2l8 8m0-8l-8 8" />,
  reached: <path d="M6 1v10" />,
  used: <path d="M1 11V4h5v4h5v3z" />,
} as const;

/** What the marks in the pictures are. */
export function Legend() {
  const { lab } = useLook().texts;
  return (
    <ul class="legend">
      {(Object.keys(MARKS) as (keyof typeof MARKS)[]).map((mark) => (
        <li key={mark}>
          <svg viewBox="0 0 12 12" class={mark} aria-hidden="true">
            {MARKS[mark]}
          </svg>
          {lab[mark]}
        </li>
      ))}
    </ul>
  );
}
