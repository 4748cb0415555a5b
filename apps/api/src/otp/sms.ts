import { BadGatewayException, Injectable, Logger } from '@nestjs/common';
import { RateLimiter } from 'nestjs-valkey-rate-limit';

/** The longest that a message waits for its turn, as somebody waits for the answer. */
const MAX_WAIT = '5s';

/** The longest that the provider may take then. */
const TIMEOUT_MS = 3_000;

/** Sends messages by a provider, and never asks it faster than it allows: all instances take turns. */
@Injectable()
export class Sms {
  readonly #log = new Logger('Sms');
  /** Where messages are posted. Without it nothing is sent, and the log says what would have been. */
  readonly #provider = process.env['SMS_PROVIDER_URL'];
  #sent = 0;

  constructor(private readonly limiter: RateLimiter) {}

  get sent(): number {
    return this.#sent;
  }

  /**
   * Comes back when the provider has it.
   *
   * @throws {ScheduleError} (rejects) when too many wait for their turn
   * @throws {BadGatewayException} (rejects) when the provider does not take it
   */
  async send(phone: string, text: string): Promise<void> {
    const turn = { key: 'all', maxWait: MAX_WAIT } as const;
    await this.limiter.schedule('sms-provider', turn, () => this.#post(phone, text));
    this.#sent += 1;
  }

  async #post(phone: string, text: string): Promise<void> {
    if (!this.#provider) {
      this.#log.log(`Would send ${text.length} characters to …${phone.slice(-2)}.`);
      return;
    }
    try {
      const response = await fetch(this.#provider, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ phone, text }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.arrayBuffer(); // or the connection is not used again
      if (!response.ok) throw new Error(`The provider answered ${response.status}.`);
    } catch (cause) {
      throw new BadGatewayException('The message could not be sent.', { cause });
    }
  }
}
