import { BadRequestException, Controller, Get, Param, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { type PolicyName, RateLimit, RateLimiter, type TopKeys } from 'nestjs-valkey-rate-limit';
import { policies } from '../rate-limits.js';
import { AdminGuard } from './admin.guard.js';
import { LimiterErrorInterceptor } from './limiter-error.interceptor.js';

@Controller('admin/top')
@UseGuards(AdminGuard)
@RateLimit('admin')
@ApiBearerAuth()
@UseInterceptors(LimiterErrorInterceptor)
export class TopController {
  constructor(private readonly limiter: RateLimiter) {}

  /** Who asked for most of a limit in the last minute or two, in all instances together. */
  @Get(':policy')
  top(@Param('policy') policy: string): Promise<TopKeys> {
    if (!Object.hasOwn(policies, policy)) throw new BadRequestException(`There is no policy "${policy}".`);
    return this.limiter.top(policy as PolicyName, 20);
  }
}
