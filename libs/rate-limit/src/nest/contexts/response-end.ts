import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Outcome } from '../settle.js';

/** What is used of a response, of HTTP/1.1 or of HTTP/2, where its stream tells what the response does not. */
type Response = ServerResponse & {
  readonly stream?: { readonly aborted: boolean; readonly closed: boolean };
};

/** What is told when a connection is gone: one listener each, however many requests are pipelined on it. */
const onGone = new WeakMap<Socket, Set<() => void>>();

/**
 * Tells, once, how a response has ended.
 *
 * @param response of Node, or what has one in `raw`, as a reply of Fastify
 */
export function whenResponseEnds(response: unknown, tell: (outcome: Outcome) => void): void {
  const raw = (response as { readonly raw?: Response }).raw ?? (response as Response);
  const { stream } = raw;
  // A response that is queued behind another one is not told that its connection is gone.
  const gone = stream === undefined ? goneWith(raw.req.socket) : undefined;
  const end = () => {
    gone?.delete(end);
    raw.off('close', end);
    tell(outcomeOf(raw));
  };
  if (raw.closed || raw.destroyed || raw.req.socket.destroyed || stream?.closed === true) {
    end();
    return;
  }
  gone?.add(end);
  raw.once('close', end);
}

function goneWith(socket: Socket): Set<() => void> {
  const present = onGone.get(socket);
  if (present !== undefined) return present;
  const waiting = new Set<() => void>();
  onGone.set(socket, waiting);
  socket.once('close', () => {
    for (const end of waiting) end();
  });
  return waiting;
}

/** In HTTP/2 a stream that was reset has "finished", with the status that it began with. */
function outcomeOf({ writableEnded, writableFinished, stream, statusCode: status }: Response): Outcome {
  if (!writableEnded || !writableFinished || stream?.aborted === true) return { result: 'abandoned' };
  return { result: status < 400 ? 'success' : 'failure', status };
}
