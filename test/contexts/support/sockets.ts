import { afterEach } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { once } from 'node:events';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { type App, type RunningApp, startApp, type StartOptions } from '../../support/app.js';
import { little, type LooseOptions } from '../../support/little.js';

export type SocketLibrary = 'socket.io' | 'ws';

export const socketLibraries: readonly SocketLibrary[] = ['socket.io', 'ws'];

/** What a gateway sends. */
export interface Message {
  readonly event: string;
  readonly data: unknown;
}

/** A client of a gateway. */
export interface SocketClient {
  /** Sends a message, and waits for what comes next. */
  ask(event: string, data?: unknown): Promise<Message>;
  /** Whether it is connected still. */
  isOpen(): boolean;
  close(): void;
}

const clients = new Set<SocketClient>();

afterEach(() => {
  for (const client of clients) client.close();
  clients.clear();
});

/** Starts an application with gateways that share the port of its HTTP server. */
export function startGateways(
  library: SocketLibrary,
  limits: LooseOptions,
  gateways: Type[],
  setUp: StartOptions = {},
): Promise<RunningApp> {
  return startApp(little({ limits, providers: gateways }), library === 'ws' ? 'fastify' : 'express', {
    ...setUp,
    app: (app: App) => {
      app.useWebSocketAdapter(library === 'ws' ? new WsAdapter(app) : new IoAdapter(app));
      setUp.app?.(app);
    },
  });
}

/** @param path the namespace of socket.io, or the path of the server */
export async function connect(
  library: SocketLibrary,
  app: RunningApp,
  path = '',
  headers: Record<string, string> = {},
): Promise<SocketClient> {
  const client = await (library === 'ws' ? overWs : overSocketIo)(`${app.url}${path}`, headers);
  clients.add(client);
  return client;
}

async function overWs(url: string, headers: Record<string, string>): Promise<SocketClient> {
  const socket = new WebSocket(url.replace('http', 'ws'), { headers });
  await once(socket, 'open');
  return {
    async ask(event, data) {
      const answer = once(socket, 'message');
      socket.send(JSON.stringify({ event, data }));
      const [text] = (await answer) as [Buffer];
      return JSON.parse(text.toString()) as Message;
    },
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: () => socket.terminate(),
  };
}

async function overSocketIo(url: string, headers: Record<string, string>): Promise<SocketClient> {
  const socket = io(url, {
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    extraHeaders: headers,
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  return {
    ask(event, data) {
      const answer = new Promise<Message>((resolve) => {
        const listener = (name: string, sent: unknown) => {
          socket.offAny(listener);
          resolve({ event: name, data: sent });
        };
        socket.onAny(listener);
      });
      socket.emit(event, data);
      return answer;
    },
    isOpen: () => socket.connected,
    close: () => void socket.disconnect(),
  };
}
