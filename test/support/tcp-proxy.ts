import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network between clients and a server on this machine, that a test can spoil. */
export interface TcpProxy {
  readonly port: number;
  /** How many clients are connected: those that hung up do not count, even if the server has yet to hear of it. */
  readonly connections: number;
  /** What comes from now on, and what is on its way, arrives that much later, in order. Both directions. */
  delay(ms: number): void;
  /** Each direction of each connection lets only so much through. */
  throttle(bytesPerSecond: number): void;
  /** Accepts connections and keeps them open, but forwards nothing more, not even that somebody hung up. */
  hang(): void;
  /** Destroys all connections with what was on its way, and refuses new ones, until it is mended. */
  cut(): void;
  /** Back to plain forwarding. What was held is delivered, at once and in order; what `cut` destroyed is lost. */
  mend(): Promise<void>;
  /** Destroys what is left. May be called again. */
  close(): Promise<void>;
}

/** What the network is like now. */
interface Weather {
  delayMs: number;
  bytesPerSecond: number;
  hanging: boolean;
}

const HOST = '127.0.0.1';
const FAIR: Readonly<Weather> = { delayMs: 0, bytesPerSecond: Infinity, hanging: false };
/** What a direction may hold before it stops reading, so that the sender feels it and memory has a bound. */
const MOST_HELD_BYTES = 2 ** 20;
/** A throttled direction sends a piece about this often. */
const PIECE_MS = 20;

const END = Buffer.alloc(0);

/** Forwards from a port of its own to a port of this machine, until it is closed. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const weather = { ...FAIR };
  const clients = new Set<Socket>();
  const sockets = new Set<Socket>();
  const lanes = new Set<Lane>();

  const open = (from: Socket, to: Socket) => {
    const lane = new Lane(from, to, weather);
    lanes.add(lane);
    to.once('close', () => lanes.delete(lane));
    sockets.add(from);
    from.once('close', () => sockets.delete(from));
  };
  const server = createServer((client) => {
    // A target that refuses ends the connection that its client already has.
    const target = connect(targetPort, HOST);
    clients.add(client);
    client.once('end', () => clients.delete(client));
    client.once('close', () => clients.delete(client));
    open(client, target);
    open(target, client);
  });
  const listen = (port: number) => once(server.listen(port, HOST), 'listening');
  const change = (changes: Partial<Weather>) => {
    Object.assign(weather, changes);
    for (const lane of lanes) lane.flow();
  };
  const cut = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };

  await listen(0);
  const { port } = server.address() as AddressInfo;
  const proxy: TcpProxy = {
    port,
    get connections() {
      return clients.size;
    },
    delay: (delayMs) => change({ delayMs }),
    throttle: (bytesPerSecond) => change({ bytesPerSecond }),
    hang: () => change({ hanging: true }),
    cut,
    mend: async () => {
      change(FAIR);
      if (!server.listening) await listen(port);
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve)); // also when it is closed already
    },
  };
  return proxy;
}

/** One direction of one connection. */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #weather: Readonly<Weather>;
  /** In the order they came. The end of the sender's words is a chunk without bytes. */
  readonly #held: { chunk: Buffer; readonly since: number }[] = [];
  #heldBytes = 0;
  #last = { at: 0, bytes: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, weather: Readonly<Weather>) {
    this.#from = from;
    this.#to = to;
    this.#weather = weather;
    to.setNoDelay(true);
    from.on('data', (chunk) => this.#hold(chunk));
    from.once('end', () => this.#hold(END));
    from.once('close', () => this.#hold(END)); // after an error there is no 'end'
    from.on('error', () => {}); // 'close' follows
    to.on('drain', () => this.flow());
    to.once('close', () => this.flow());
  }

  #hold(chunk: Buffer): void {
    this.#held.push({ chunk, since: performance.now() });
    this.#heldBytes += chunk.length;
    this.flow();
  }

  /** Sends on what is due. To be called whenever that may have changed. */
  flow(): void {
    clearTimeout(this.#timer);
    if (!this.#to.writable) this.#drop();
    while (this.#held.length > 0 && !this.#to.writableNeedDrain) {
      const wait = this.#dueAt() - performance.now();
      if (wait > 0) {
        if (wait < Infinity) this.#timer = setTimeout(() => this.flow(), wait);
        break;
      }
      this.#send();
    }
    if (this.#heldBytes < MOST_HELD_BYTES) this.#from.resume();
    else this.#from.pause();
  }

  /** When the first that is held may go on. */
  #dueAt(): number {
    const { delayMs, bytesPerSecond, hanging } = this.#weather;
    if (hanging) return Infinity;
    const free = this.#last.at + (this.#last.bytes / bytesPerSecond) * 1_000;
    return Math.max(this.#held[0]!.since + delayMs, free);
  }

  #send(): void {
    const first = this.#held[0]!;
    const most = Math.max(1, (this.#weather.bytesPerSecond * PIECE_MS) / 1_000);
    const piece = first.chunk.subarray(0, most);
    first.chunk = first.chunk.subarray(most);
    if (first.chunk.length === 0) this.#held.shift();
    this.#heldBytes -= piece.length;
    this.#last = { at: performance.now(), bytes: piece.length };
    if (piece.length > 0) this.#to.write(piece);
    else this.#to.end();
  }

  /** Nobody is there to get it. */
  #drop(): void {
    this.#held.length = 0;
    this.#heldBytes = 0;
  }
}
