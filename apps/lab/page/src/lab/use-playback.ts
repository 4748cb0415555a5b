import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** How many seconds a window may take. */
export const SPEEDS = [2, 5, 10, 20] as const;

export interface Playback {
  /** Milliseconds from the beginning; `undefined` when all is shown. */
  readonly time: number | undefined;
  readonly isPlaying: boolean;
  readonly secondsPerWindow: number;
  /** Goes on, or from the beginning where there is nothing left; or stops. */
  toggle(): void;
  seek(time: number | undefined): void;
  setSpeed(secondsPerWindow: number): void;
}

/** Moves a time from 0 to the span, as fast as is wished. */
export function usePlayback(span: number, windowMs: number): Playback {
  const [time, setTime] = useState<number | undefined>(undefined);
  const [isPlaying, setPlaying] = useState(false);
  const [secondsPerWindow, setSpeed] = useState<number>(SPEEDS[1]);
  const last = useRef<number | undefined>(undefined);

  useEffect(() => {
    if (!isPlaying) return;
    const perMillisecond = windowMs / (secondsPerWindow * 1_000);
    let frame = requestAnimationFrame(function step(now) {
      const passed = now - (last.current ?? now);
      last.current = now;
      setTime((before = 0) => Math.min(span, before + passed * perMillisecond));
      frame = requestAnimationFrame(step);
    });
    return () => {
      cancelAnimationFrame(frame);
      last.current = undefined;
    };
  }, [isPlaying, secondsPerWindow, span, windowMs]);

  useEffect(() => {
    if (time === span) setPlaying(false);
  }, [time, span]);

  const toggle = useCallback(() => {
    if (!isPlaying) setTime((before) => (before === undefined || before >= span ? 0 : before));
    setPlaying(!isPlaying);
  }, [isPlaying, span]);
  const seek = useCallback((to: number | undefined) => {
    setPlaying(false);
    setTime(to);
  }, []);
  return { time, isPlaying, secondsPerWindow, toggle, seek, setSpeed };
}
