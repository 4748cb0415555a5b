import { Field, ID, Int, ObjectType } from '@nestjs/graphql';
import type { Product } from '../catalogue/catalogue.js';

@ObjectType('Product')
export class ProductType implements Product {
  @Field(() => ID)
  readonly id!: string;

  @Field(() => String)
  readonly name!: string;

  @Field(() => Int, { description: 'In cents.' })
  readonly price!: number;
}
