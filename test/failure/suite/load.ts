import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Held, heldNow } from './held.js';

export type Route = 'local' | 'open' | 'closed';

export const routes: readonly Route[] = ['local', 'open', 'closed'];

/** Where requests go. */
export interface Receiver {
  readonly url: string;
  readonly pid: number;
}

/** One request and what became of it. Times are those of `performance.now()`. */
export interface Sent {
  readonly route: Route;
  readonly client: string;
  readonly at: number;
  readonly ms: number;
  /** 0 for one that was not answered. */
  readonly status: number;
  /** Why it was not answered. */
  readonly error?: string;
  readonly retryAfter: string | undefined;
  /** Whether the answer tells of a limit. */
  readonly told: boolean;
}

/** Requests a second. */
export const RATE = 50;
/** A client whose limit was used up before. */
export const WORN = 'worn';
const GIVEN_UP_MS = 5_000;

/** Requests at a steady rate to one application, sent when it is time whatever has become of the ones before. */
export class Load {
  readonly sent: Sent[] = [];
  /** How much the machine was busy with something else, while this process or the application had to go on. */
  readonly held: Held[] = [];
  /** The name of one of the clients, who can be another one from some time on. */
  guest = 'early';
  readonly #agent = new Agent({ keepAlive: true });
  readonly #end = new AbortController();
  readonly #pending = new Set<Promise<void>>();
  readonly #done: Promise<void>;
  #pause: Promise<void> | undefined;

  constructor(private readonly receiver: Receiver) {
    this.#done = this.#run();
  }

  /** Does something while nothing is sent or on its way: what it costs is nobody's waiting time. */
  async aside<Result>(act: () => Promise<Result>): Promise<Result> {
    const acting = this.#settled().then(act);
    const goOn = () => {
      this.#pause = undefined;
    };
    this.#pause = acting.then(goOn, goOn);
    return acting;
  }

  /** Sends no more, and waits for what is on its way. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#done;
    await this.#settled();
    this.#agent.destroy();
  }

  async #run(): Promise<void> {
    let due = performance.now();
    for (let index = 0; !this.#end.signal.aborted; index += 1) {
      const early = due - performance.now();
      if (early > 0) await sleep(early);
      if (this.#pause !== undefined) {
        await this.#pause;
        due = performance.now();
      }
      due += 1_000 / RATE;
      const client = this.#clientOf(Math.floor(index / routes.length));
      const request = this.#send(routes[index % routes.length]!, client);
      this.#pending.add(request);
      void request.finally(() => this.#pending.delete(request));
    }
  }

  /** Who asks: one whose limit was used up before, one who comes again and again, the guest, and always new ones. */
  #clientOf(turn: number): string {
    return [WORN, 'steady', this.guest, `new-${Math.floor(turn / 20)}`][turn % 4]!;
  }

  async #send(route: Route, client: string): Promise<void> {
    this.#look();
    this.sent.push(await send(this.receiver, route, client, this.#agent));
    this.#look();
  }

  #look(): void {
    this.held.push(heldNow(process.pid, this.receiver.pid));
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

/** One request. Never rejects: what goes wrong is in the result. */
export function send({ url }: Receiver, route: Route, client: string, agent?: Agent): Promise<Sent> {
  const at = performance.now();
  return new Promise((resolve) => {
    const done = (result: Pick<Sent, 'status' | 'error'>, response?: IncomingMessage) => {
      resolve({
        route,
        client,
        at,
        ms: performance.now() - at,
        retryAfter: response?.headers['retry-after'],
        told: response?.headers['ratelimit'] !== undefined,
        ...result,
      });
    };
    const options = { agent, headers: { 'x-client': client }, timeout: GIVEN_UP_MS };
    const request = get(`${url}/${route}`, options, (response) => {
      response.resume();
      response.once('end', () => done({ status: response.statusCode! }, response));
      response.once('error', (error) => done({ status: 0, error: error.message }));
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${GIVEN_UP_MS} ms`)));
    request.once('error', (error) => done({ status: 0, error: error.message }));
  });
}
