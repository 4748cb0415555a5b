import { useState } from 'preact/hooks';
import type { Run } from '../../../src/side-by-side/simulate.js';
import { useLook } from '../shell.js';

/** More rows than anybody reads would only make the page slow. */
const MOST_ROWS = 200;

/** The requests in words and numbers, made when somebody opens it. */
export function RequestTable({ run }: { readonly run: Run }) {
  const { texts } = useLook();
  const { lab, seconds } = texts;
  const [isOpen, setOpen] = useState(false);
  const { heads } = lab;
  const more = run.requests.length - MOST_ROWS;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{lab.table}</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={lab.table}>
          <table>
            <thead>
              <tr>
                {Object.entries(heads).map(([column, head]) => (
                  <th key={column} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {run.requests.slice(0, MOST_ROWS).map((request, index) => (
                <tr key={index}>
                  <td>{seconds(request.at)}</td>
                  <td>{lab.client(request.client)}</td>
                  <td>{request.attempt}</td>
                  <td class={request.outcome}>{lab[request.outcome]}</td>
                  <td>{request.verdict.remaining}</td>
                  <td>{request.reachesAt === undefined ? '–' : seconds(request.reachesAt - request.at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {more > 0 && <p>{lab.more(more)}</p>}
        </div>
      )}
    </details>
  );
}
