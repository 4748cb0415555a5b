import { Controller, Get, Post } from '@nestjs/common';
import { Priority, SkipRateLimit } from 'nestjs-valkey-rate-limit';

@Controller()
export class ShopController {
  @Post('orders')
  @Priority('critical')
  order(): string {
    return 'ordered';
  }

  @Get('products') // 'normal'
  list(): string[] {
    return ['kettle'];
  }

  @Get('recommendations')
  @Priority('background')
  recommend(): string[] {
    return ['cup'];
  }

  @Get('health')
  @SkipRateLimit() // never shed
  health(): string {
    return 'up';
  }
}
