import { randomInt } from 'node:crypto';
import { BadRequestException, Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { phoneIn } from './phone.js';
import { Sms } from './sms.js';

@Controller('otp')
export class OtpController {
  constructor(private readonly sms: Sms) {}

  /** Sends a one-time password. */
  @Post()
  @HttpCode(202)
  @RateLimit('otp', 'otp-address')
  @ApiBody({ schema: { example: { phone: '+49 30 1234567' } } })
  send(@Body() body: unknown): { accepted: true } {
    const phone = phoneIn(body);
    if (phone === undefined)
      throw new BadRequestException('Send {"phone": "+…"}, with the code of the country.');
    this.sms.send(phone, `Your code is ${String(randomInt(1_000_000)).padStart(6, '0')}.`);
    return { accepted: true };
  }
}
