import { Injectable, Logger } from '@nestjs/common';

/** Stands in for a provider of SMS: it sends nothing, and counts. */
@Injectable()
export class Sms {
  readonly #log = new Logger('Sms');
  #sent = 0;

  get sent(): number {
    return this.#sent;
  }

  send(phone: string, text: string): void {
    this.#sent += 1;
    this.#log.log(`Would send ${text.length} characters to …${phone.slice(-2)}.`);
  }
}
