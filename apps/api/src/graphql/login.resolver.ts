import { UnauthorizedException } from '@nestjs/common';
import { Args, Mutation, Resolver } from '@nestjs/graphql';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { Passwords } from '../auth/passwords.js';

/** Many passwords in one request, each under another alias, are as many attempts as in many requests. */
@Resolver()
export class LoginResolver {
  constructor(private readonly passwords: Passwords) {}

  @Mutation(() => String, { nullable: true, description: 'The name of the user.' })
  @RateLimit('login', { settle: 'on-success-refund' })
  async login(@Args('username') username: string, @Args('password') password: string): Promise<string> {
    if (await this.passwords.match(username, password)) return username;
    throw new UnauthorizedException('The user name or the password is wrong.');
  }
}
