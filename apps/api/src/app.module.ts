import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { TerminusModule } from '@nestjs/terminus';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { AdminController } from './admin/admin.controller.js';
import { Shadows } from './admin/shadows.js';
import { ShadowsController } from './admin/shadows.controller.js';
import { TopController } from './admin/top.controller.js';
import { LoginController } from './auth/login.controller.js';
import { Passwords } from './auth/passwords.js';
import { Catalogue } from './catalogue/catalogue.js';
import { ProductsController } from './catalogue/products.controller.js';
import { Sales } from './catalogue/sales.js';
import { SearchController } from './catalogue/search.controller.js';
import { TenantProductsController } from './catalogue/tenant-products.controller.js';
import { CatalogueResolver } from './graphql/catalogue.resolver.js';
import { graphqlOptions } from './graphql/graphql.options.js';
import { LoginResolver } from './graphql/login.resolver.js';
import { HealthController } from './health/health.controller.js';
import { LiveGateway } from './live/live.gateway.js';
import { LiveView } from './live-view/live-view.js';
import { LiveViewController } from './live-view/live-view.controller.js';
import { Refusals } from './live-view/refusals.js';
import { MetricsController } from './observability/metrics.controller.js';
import { OtpController } from './otp/otp.controller.js';
import { Sms } from './otp/sms.js';
import { policies, shed, telemetry } from './rate-limits.js';
import { Reports } from './reports/reports.js';
import { ReportsController } from './reports/reports.controller.js';
import { identifyBy } from './tenants/identify.js';
import { Tenants } from './tenants/tenants.js';
import { TenantsModule } from './tenants/tenants.module.js';

/** FOR DEVELOPMENT ONLY: whoever reads this can tell which phone a hash in Valkey is of. Set RATE_LIMIT_SECRET. */
const DEVELOPMENT_SECRET = 'for development only';

@Module({
  imports: [
    TerminusModule,
    TenantsModule,
    GraphQLModule.forRoot(graphqlOptions),
    RateLimitModule.forRootAsync({
      imports: [TenantsModule],
      inject: [Tenants],
      useFactory: (tenants: Tenants) => {
        const valkey = process.env['VALKEY_URL'];
        const secret = process.env['RATE_LIMIT_SECRET'] || DEVELOPMENT_SECRET;
        return {
          policies,
          shed,
          telemetry,
          identify: identifyBy(tenants),
          secret,
          ...(valkey && { valkey }),
        };
      },
    }),
  ],
  controllers: [
    ProductsController,
    TenantProductsController,
    SearchController,
    ReportsController,
    LoginController,
    OtpController,
    AdminController,
    ShadowsController,
    TopController,
    LiveViewController,
    MetricsController,
    HealthController,
  ],
  providers: [
    Catalogue,
    Sales,
    LiveView,
    Passwords,
    Refusals,
    Reports,
    Shadows,
    Sms,
    CatalogueResolver,
    LoginResolver,
    LiveGateway,
  ],
})
export class AppModule {}
