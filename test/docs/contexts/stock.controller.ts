import { Controller } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { key, RateLimit } from 'nestjs-valkey-rate-limit';

@Controller()
export class StockController {
  readonly sold: string[] = [];

  @MessagePattern('stock.count')
  @RateLimit({ name: 'count', algorithm: 'token-bucket', limit: 5, window: '10s', key: key.body('shop') })
  count(): number {
    return this.sold.length;
  }

  @EventPattern('stock.sold')
  @RateLimit({ name: 'sold', algorithm: 'token-bucket', limit: 5, window: '10s', key: key.body('shop') })
  sell(@Payload() { what }: { what: string }): void {
    this.sold.push(what);
  }
}
