import { type ArgumentsHost, Catch, type ExceptionFilter, ServiceUnavailableException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ScheduleError } from 'nestjs-valkey-rate-limit';

/** Where the limiter cannot say, because Valkey does not answer. */
const UNKNOWN_WAIT_MS = 1_000;

/** Whoever did not get a turn is told when to come again. */
@Catch(ScheduleError)
export class ScheduleErrorFilter implements ExceptionFilter<ScheduleError> {
  constructor(private readonly adapters: HttpAdapterHost) {}

  catch({ retryAfterMs = UNKNOWN_WAIT_MS }: ScheduleError, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapters;
    const response = host.switchToHttp().getResponse<unknown>();
    const answer = new ServiceUnavailableException('No message can be sent at the moment.');
    httpAdapter.setHeader(response, 'Retry-After', String(Math.ceil(retryAfterMs / 1_000)));
    httpAdapter.reply(response, answer.getResponse(), answer.getStatus());
  }
}
