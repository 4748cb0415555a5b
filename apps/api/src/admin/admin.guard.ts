import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';

/** Lets whoever has the token in ADMIN_TOKEN pass; nobody where there is none. */
@Injectable()
export class AdminGuard implements CanActivate {
  readonly #token = process.env['ADMIN_TOKEN'];

  canActivate(context: ExecutionContext): boolean {
    if (!this.#token) throw new ForbiddenException('The admin routes are closed: ADMIN_TOKEN is not set.');
    const { headers } = context.switchToHttp().getRequest<{ headers: { authorization?: string } }>();
    const given = /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
    if (given !== undefined && areEqual(given, this.#token)) return true;
    throw new UnauthorizedException('Send the admin token: "Authorization: Bearer …".');
  }
}

/** In a time that does not tell how much of them is alike. Hashes, because texts differ in length. */
function areEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash(one), hash(other));
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
