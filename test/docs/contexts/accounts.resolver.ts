import { Args, Mutation, Query, Resolver } from '@nestjs/graphql';
import { key, RateLimit } from 'nestjs-valkey-rate-limit';

@Resolver()
export class AccountsResolver {
  @Mutation(() => Boolean, { nullable: true })
  @RateLimit({
    name: 'login',
    algorithm: 'token-bucket',
    limit: 5,
    window: '10s',
    key: key.join(key.ip(), key.body('username')), // an argument of the mutation
  })
  logIn(@Args('username') username: string): boolean {
    return username !== '';
  }

  @Query(() => String) // not decorated: not limited
  status(): string {
    return 'up';
  }
}
