import {
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
  type WsResponse,
} from '@nestjs/websockets';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { Catalogue, type Product } from '../catalogue/catalogue.js';

/** Longer messages end the connection before anything reads them. */
const MOST_BYTES = 1_024;

/** Products over a WebSocket, one a message. What is refused leaves the connection open. */
@WebSocketGateway({ path: '/live', maxPayload: MOST_BYTES })
@RateLimit('messages')
export class LiveGateway {
  constructor(private readonly catalogue: Catalogue) {}

  @SubscribeMessage('watch')
  watch(@MessageBody('id') id: unknown): WsResponse<Product> {
    const product = typeof id === 'string' ? this.catalogue.find(id) : undefined;
    if (product === undefined) throw new WsException('There is no such product.');
    return { event: 'product', data: product };
  }
}
