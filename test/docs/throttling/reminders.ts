import { Injectable } from '@nestjs/common';
import { RateLimiter, ScheduleError } from 'nestjs-valkey-rate-limit';

@Injectable()
export class Reminders {
  constructor(private readonly limiter: RateLimiter) {}

  /** @returns after which time to try again, if it could not be sent */
  async send(phone: string, signal: AbortSignal): Promise<number | undefined> {
    const options = { key: 'all', maxWait: '2s', signal } as const;
    try {
      await this.limiter.schedule('sms-provider', options, () => post({ phone, text: 'Tomorrow!' }, signal));
      return undefined;
    } catch (error) {
      if (error instanceof ScheduleError) return error.retryAfterMs ?? 1_000;
      throw error;
    }
  }
}

async function post(message: object, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify(message);
  await fetch(process.env['SMS_PROVIDER_URL']!, { method: 'POST', body, signal });
}
