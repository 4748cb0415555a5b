import type { RateLimitContext } from 'nestjs-valkey-rate-limit';

export const device = Object.assign(
  ({ user, request }: RateLimitContext) => user && `${user}|${request.headers['x-device']}`,
  { needs: ['user'] },
);
