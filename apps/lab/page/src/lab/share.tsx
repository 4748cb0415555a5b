import { useEffect, useRef, useState } from 'preact/hooks';
import { useLook } from '../shell.js';

/** The address holds everything. Where it cannot be copied, it is shown to be copied by hand. */
export function Share() {
  const { lab } = useLook().texts;
  const [shared, setShared] = useState<'copied' | 'shown' | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (shared === 'shown') field.current?.select();
  }, [shared]);

  const copy = () =>
    // Left out by browsers where the page is not served over HTTPS or from this machine.
    Promise.resolve(navigator.clipboard?.writeText(location.href) ?? Promise.reject(new Error())).then(
      () => setShared('copied'),
      () => setShared('shown'),
    );
  return (
    <div class="share">
      <button type="button" data-testid="share" onClick={() => void copy()}>
        {lab.share}
      </button>
      <p role="status">
        {shared === 'copied' && lab.shared}
        {shared === 'shown' && lab.notShared}
      </p>
      {shared === 'shown' && (
        <input ref={field} readOnly dir="ltr" aria-label={lab.share} value={location.href} />
      )}
    </div>
  );
}
