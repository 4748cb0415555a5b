/** Ten years, the longest window. Longer ones are better kept in a database. */
export const MAX_WINDOW_MS = 3_650 * 86_400_000;

/** The highest limit and burst: header fields carry integers of at most 15 digits (RFC 9651 §3.3.1). */
export const MAX_LIMIT = 999_999_999_999_999;
