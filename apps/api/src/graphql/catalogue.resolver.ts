import { UseGuards } from '@nestjs/common';
import { Args, ID, Int, Query, Resolver } from '@nestjs/graphql';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { Catalogue, type Product } from '../catalogue/catalogue.js';
import { checkPages } from '../catalogue/pages.js';
import { ApiKeyGuard } from '../tenants/api-key.guard.js';
import { ProductType } from './product.type.js';

/** What is refused leaves the rest of an operation alone, if it may be null. */
const orNull = { nullable: true } as const;

/** The catalogue once more: each field of a query takes of the limits that the tenant's REST requests take of. */
@Resolver()
@UseGuards(ApiKeyGuard)
@RateLimit('requests')
export class CatalogueResolver {
  constructor(private readonly catalogue: Catalogue) {}

  @Query(() => [ProductType], orNull)
  products(): readonly Product[] {
    return this.catalogue.list();
  }

  @Query(() => ProductType, orNull)
  product(@Args('id', { type: () => ID }) id: string): Product | undefined {
    return this.catalogue.find(id);
  }

  /** To keys and costs the arguments are the body. */
  @Query(() => [ProductType], orNull)
  @RateLimit('search', { cost: ({ request }) => request['body'].pages })
  search(
    @Args('text', { type: () => String, defaultValue: '' }) text: string,
    @Args('pages', { type: () => Int, defaultValue: 1 }) pages: number,
  ): readonly Product[] {
    return this.catalogue.search(text, checkPages(pages));
  }
}
