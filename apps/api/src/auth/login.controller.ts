import { BadRequestException, Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { Priority, RateLimit } from 'nestjs-valkey-rate-limit';
import { Passwords } from './passwords.js';

@Controller('login')
@Priority('critical')
export class LoginController {
  constructor(private readonly passwords: Passwords) {}

  @Post()
  @HttpCode(200)
  @RateLimit('login', { settle: 'on-success-refund' })
  @ApiBody({ schema: { example: { username: 'ada', password: 'analytical engine' } } })
  async login(@Body() body: unknown): Promise<{ user: string }> {
    const { username, password } = readCredentials(body);
    if (await this.passwords.match(username, password)) return { user: username };
    throw new UnauthorizedException('The user name or the password is wrong.');
  }
}

function readCredentials(body: unknown): { username: string; password: string } {
  const { username, password } = (body ?? {}) as Record<string, unknown>;
  if (typeof username === 'string' && typeof password === 'string') return { username, password };
  throw new BadRequestException('Send {"username": "…", "password": "…"}.');
}
