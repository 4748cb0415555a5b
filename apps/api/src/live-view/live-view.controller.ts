import { Controller, type MessageEvent, Sse, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { Priority, RateLimit } from 'nestjs-valkey-rate-limit';
import { map, type Observable } from 'rxjs';
import { AdminGuard } from '../admin/admin.guard.js';
import { LiveView } from './live-view.js';

/** When a viewer that lost the connection is to come again. */
const RETRY_MS = 2_000;

@Controller('admin/live')
@Priority('critical')
@UseGuards(AdminGuard)
@ApiBearerAuth()
export class LiveViewController {
  constructor(private readonly view: LiveView) {}

  /** How this instance is, each second: policies, who is close to a limit, refusals by route, the store. */
  @Sse()
  @RateLimit('admin')
  live(): Observable<MessageEvent> {
    return this.view.snapshots$.pipe(map((data) => ({ type: 'snapshot', retry: RETRY_MS, data })));
  }
}
