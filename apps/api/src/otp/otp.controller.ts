import { randomInt } from 'node:crypto';
import { BadRequestException, Body, Controller, HttpCode, Post, UseFilters } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { type Outcome, RateLimit } from 'nestjs-valkey-rate-limit';
import { phoneIn } from './phone.js';
import { ScheduleErrorFilter } from './schedule-error.filter.js';
import { Sms } from './sms.js';

/** Whoever was sent away before anything was sent comes again, and has not used anything up. */
const settle = ({ status }: Outcome) => (status === 503 ? 0 : 1);

@Controller('otp')
@UseFilters(ScheduleErrorFilter)
export class OtpController {
  constructor(private readonly sms: Sms) {}

  /** Sends a one-time password. */
  @Post()
  @HttpCode(202)
  @RateLimit('otp', 'otp-address', { settle })
  @ApiBody({ schema: { example: { phone: '+49 30 1234567' } } })
  async send(@Body() body: unknown): Promise<{ accepted: true }> {
    const phone = phoneIn(body);
    if (phone === undefined)
      throw new BadRequestException('Send {"phone": "+…"}, with the code of the country.');
    await this.sms.send(phone, `Your code is ${String(randomInt(1_000_000)).padStart(6, '0')}.`);
    return { accepted: true };
  }
}
