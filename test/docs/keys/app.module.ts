import { Controller, Module, Post } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { options } from './limits.js';

@Controller('orders')
export class OrdersController {
  @Post(':id')
  change(): string {
    return 'Changed.';
  }
}

@Module({ imports: [RateLimitModule.forRoot(options)], controllers: [OrdersController] })
export class AppModule {}
