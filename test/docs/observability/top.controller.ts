import { Controller, Get } from '@nestjs/common';
import { RateLimiter, SkipRateLimit } from 'nestjs-valkey-rate-limit';

@Controller('admin/top')
@SkipRateLimit()
export class TopController {
  constructor(private readonly limiter: RateLimiter) {}

  @Get()
  async list(): Promise<string[]> {
    const { keys } = await this.limiter.top('api', 20);
    return keys.map(({ key, asked, denied }) => `${key}: ${asked.toFixed(1)} × its limit, ${denied} denied`);
  }
}
