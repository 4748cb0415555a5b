import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { AccountsResolver } from './accounts.resolver.js';
import { ChatGateway } from './chat.gateway.js';
import { StockController } from './stock.controller.js';

@Module({
  imports: [
    RateLimitModule.forRoot({}),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      preserveHttpStatusForExecutionErrors: false, // or Nest answers 200 whatever happened
      stopOnApplicationShutdown: true, // or Apollo waits for open WebSockets, which Nest closes later
    }),
  ],
  controllers: [StockController],
  providers: [AccountsResolver, ChatGateway],
})
export class AppModule {}
