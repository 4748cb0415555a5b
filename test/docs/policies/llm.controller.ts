import { Body, Controller, Post, Req, UnauthorizedException } from '@nestjs/common';
import { key, RateLimit, type RateLimitRequest } from 'nestjs-valkey-rate-limit';

@Controller()
export class LlmController {
  @Post('login')
  @RateLimit('login', { settle: 'on-success-refund' }) // only failures count
  logIn(@Body('password') password: string) {
    if (password !== 'correct horse') throw new UnauthorizedException();
    return 'in';
  }

  @Post('ask')
  @RateLimit({
    algorithm: 'quota',
    limit: 100_000, // tokens
    period: 'day',
    key: key.user(),
    cost: 1_000, // what an answer takes at the most
    settle: (_, { request }) => request['tokens'] ?? 0, // what it took
  })
  ask(@Body('question') question: string, @Req() request: RateLimitRequest & { tokens?: number }) {
    const answer = `What do you mean by "${question}"?`;
    request.tokens = answer.split(' ').length;
    return answer;
  }
}
