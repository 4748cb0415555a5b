import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { key, RateLimit, SkipRateLimit } from 'nestjs-valkey-rate-limit';

@WebSocketGateway()
@RateLimit({ name: 'chat', algorithm: 'token-bucket', limit: 5, window: '10s', key: key.ip() })
export class ChatGateway {
  @SubscribeMessage('say')
  say(@MessageBody() text: string) {
    return { event: 'said', data: text };
  }

  @SubscribeMessage('ping')
  @SkipRateLimit()
  ping() {
    return { event: 'pong', data: '' };
  }
}
