import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Put,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiParam } from '@nestjs/swagger';
import { type Override, RateLimit, RateLimiter } from 'nestjs-valkey-rate-limit';
import { TENANT_POLICIES, type TenantPolicy } from '../rate-limits.js';
import type { Tenant } from '../tenants/tenant.js';
import { Tenants } from '../tenants/tenants.js';
import { AdminGuard } from './admin.guard.js';
import { LimiterErrorInterceptor } from './limiter-error.interceptor.js';
import { type Usage, usageOf } from './usage.js';

/** What support needs: look at a tenant's limits, change one for a while, and give it back. */
@Controller('admin/tenants/:id')
@UseGuards(AdminGuard)
@UseInterceptors(LimiterErrorInterceptor)
@RateLimit('admin')
@ApiBearerAuth()
@ApiParam({ name: 'id', example: 'acme' })
export class AdminController {
  constructor(
    private readonly tenants: Tenants,
    private readonly limiter: RateLimiter,
  ) {}

  @Get('usage')
  async usage(@Param('id') id: string): Promise<{ tenant: Tenant; usage: readonly Usage[] }> {
    const tenant = this.#tenant(id);
    const usage = TENANT_POLICIES.map((policy) => this.#usage(tenant, policy));
    return { tenant, usage: await Promise.all(usage) };
  }

  @Delete('usage/:policy')
  @HttpCode(204)
  async reset(@Param('id') id: string, @Param('policy') policy: string): Promise<void> {
    await this.limiter.reset(readPolicy(policy), { key: this.#tenant(id).id });
  }

  @Put('limits/:policy')
  @ApiBody({ schema: { example: { limit: 120, until: '2030-01-01T00:00:00Z' } } })
  async override(
    @Param('id') id: string,
    @Param('policy') policy: string,
    @Body() body: unknown,
  ): Promise<Usage> {
    const [name, tenant] = [readPolicy(policy), this.#tenant(id)];
    await this.limiter.overrides.set(name, id, readOverride(body));
    return this.#usage(tenant, name);
  }

  @Delete('limits/:policy')
  @HttpCode(204)
  async back(@Param('id') id: string, @Param('policy') policy: string): Promise<void> {
    await this.limiter.overrides.delete(readPolicy(policy), this.#tenant(id).id);
  }

  async #usage(tenant: Tenant, policy: TenantPolicy): Promise<Usage> {
    const { id, plan, timeZone } = tenant;
    const decision = await this.limiter.peek(policy, { key: id, plan, timeZone });
    return usageOf(decision, this.limiter.overrides.get(policy, id));
  }

  #tenant(id: string): Tenant {
    const tenant = this.tenants.find(id);
    if (tenant === undefined) throw new NotFoundException(`There is no tenant "${id}".`);
    return tenant;
  }
}

function readPolicy(name: string): TenantPolicy {
  const policy = TENANT_POLICIES.find((each) => each === name);
  if (policy !== undefined) return policy;
  throw new NotFoundException(`Tenants have no limit "${name}". They have: ${TENANT_POLICIES.join(', ')}.`);
}

/** JSON has no dates. Everything else is the limiter's to check. */
function readOverride(body: unknown): Override {
  const { until } = (body ?? {}) as { until?: unknown };
  return typeof until === 'string' ? { ...(body as Override), until: new Date(until) } : (body as Override);
}
