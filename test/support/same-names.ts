import { Controller, Get, type Type } from '@nestjs/common';
import type { InlinePolicy } from 'nestjs-valkey-rate-limit';
import { Limit } from './little.js';

/** A controller whose class, method and path are named alike wherever it is made. */
export function sameNames(path: string, policy: InlinePolicy): Type {
  @Controller(path)
  class Same {
    @Get()
    @Limit(policy)
    list(): string {
      return path;
    }
  }
  return Same;
}
