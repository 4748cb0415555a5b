import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { LoginController } from './auth/login.controller.js';
import { Passwords } from './auth/passwords.js';
import { Catalogue } from './catalogue/catalogue.js';
import { ProductsController } from './catalogue/products.controller.js';
import { HealthController } from './health/health.controller.js';
import { policies } from './rate-limits.js';

@Module({
  imports: [
    TerminusModule,
    RateLimitModule.forRootAsync({
      useFactory: () => {
        const valkey = process.env['VALKEY_URL'];
        return { policies, ...(valkey && { valkey }) };
      },
    }),
  ],
  controllers: [ProductsController, LoginController, HealthController],
  providers: [Catalogue, Passwords],
})
export class AppModule {}
