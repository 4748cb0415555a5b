import { beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { until } from '../../tools/until.js';
import { connect, type Message } from '../contexts/support/sockets.js';
import type { RunningApp } from '../support/app.js';
import { sampleCases, samples } from '../support/sample.js';

const sample = samples();

const KETTLE = { event: 'product', data: { id: 'kettle', name: 'Kettle', price: 3_900 } };
const REFUSED = {
  event: 'exception',
  data: {
    code: 'RATE_LIMITED',
    retryAfter: 2,
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: 'The limit "messages" is exceeded. Try again in 2 seconds.',
    'violated-policies': ['messages'],
  },
};

describe.each(sampleCases)("the sample's gateway on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;
  let now: number;

  beforeEach(async () => {
    now = 1_800_000_000_000;
    app = await sample.start(adapter, store, { clock: () => now });
  });

  const open = () => connect('ws', app, '/live');
  const openRaw = async () => {
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/live`);
    await once(socket, 'open');
    return socket;
  };
  const kettle = ['watch', { id: 'kettle' }] as const;

  test('sends products, and refuses a message above the limit until the time that it told', async () => {
    const client = await open();
    for (let count = 0; count < 5; count += 1) expect(await client.ask(...kettle)).toEqual(KETTLE);
    expect(await client.ask(...kettle)).toEqual(REFUSED);
    expect(client.isOpen()).toBe(true);
    now += 1_999;
    expect((await client.ask(...kettle)).event).toBe('exception');
    now += 1;
    expect(await client.ask(...kettle)).toEqual(KETTLE);
    expect((await client.ask(...kettle)).event).toBe('exception');
  });

  test('answers a flood message by message, and leaves the socket open', async () => {
    const socket = await openRaw();
    const answers = new Promise<Message[]>((resolve) => {
      const seen: Message[] = [];
      socket.on('message', (text: Buffer) => {
        if (seen.push(JSON.parse(text.toString()) as Message) === 100) resolve(seen);
      });
    });
    for (let count = 0; count < 100; count += 1) {
      socket.send(JSON.stringify({ event: 'watch', data: { id: 'kettle' } }));
    }
    const seen = await answers;
    expect(seen.filter(({ event }) => event === 'product')).toHaveLength(5);
    expect(seen.filter(({ event }) => event === 'exception')).toEqual(
      Array.from({ length: 95 }, () => REFUSED),
    );
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });

  test('counts the sockets of an address together, and apart from REST', async () => {
    for (const client of [await open(), await open()]) {
      await client.ask(...kettle);
      await client.ask(...kettle);
    }
    const third = await open();
    expect((await third.ask(...kettle)).event).toBe('product');
    expect(await third.ask(...kettle)).toEqual(REFUSED);
    expect((await app.fetch('/products')).status).toBe(200);
  });

  test.each([[{ id: 'nothing' }], [{ id: ['kettle'] }], [{}], [null], ['kettle'], [undefined]])(
    'knows no product for %j, and counts the question',
    async (data) => {
      const client = await open();
      for (let count = 0; count < 5; count += 1) {
        expect(await client.ask('watch', data)).toMatchObject({
          event: 'exception',
          data: { message: 'There is no such product.' },
        });
      }
      expect(await client.ask(...kettle)).toEqual(REFUSED);
    },
  );

  test('ends a connection whose message is too long, before it is read, and no other', async () => {
    app.app.useLogger(false);
    const [other, socket] = [await open(), await openRaw()];
    socket.send(JSON.stringify({ event: 'watch', data: { id: 'x'.repeat(1_024) } }));
    expect((await once(socket, 'close'))[0]).toBe(1_009);
    expect(await other.ask(...kettle)).toEqual(KETTLE);
  });

  test('is closed with the application, however many are connected', async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, open));
    await clients[0]!.ask(...kettle);
    const begun = performance.now();
    await app.close();
    expect(performance.now() - begun).toBeLessThan(5_000); // Apollo would wait for them for ever
    await until('they know', () => clients.every((client) => !client.isOpen()));
  });
});
