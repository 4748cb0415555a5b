import { Controller, Get, UseGuards } from '@nestjs/common';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { LogIn } from './log-in.guard.js';

@Controller('reports')
@UseGuards(LogIn)
export class ReportsController {
  @Get()
  @RateLimit('api')
  list() {
    return [];
  }
}
