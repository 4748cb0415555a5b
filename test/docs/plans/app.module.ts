import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { LimitsController } from './limits.controller.js';
import { policies } from './policies.js';
import { ReportsController } from './reports.controller.js';
import { Tenants, TenantsModule } from './tenants.module.js';

@Module({
  imports: [
    TenantsModule,
    RateLimitModule.forRootAsync({
      authentication: 'guards',
      imports: [TenantsModule],
      inject: [Tenants],
      useFactory: (tenants: Tenants) => ({
        policies,
        everyRoute: ['address'],
        identify: {
          user: ({ request }) => request['user']?.id,
          tenant: ({ request }) => request['user']?.tenant,
          plan: ({ tenant }) => tenants.planOf(tenant), // asks the database
          cacheFor: '30s',
        },
        onIdentityFailure: 'default-plan',
      }),
    }),
  ],
  controllers: [ReportsController, LimitsController],
})
export class AppModule {}
