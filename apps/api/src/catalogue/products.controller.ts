import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { Priority, RateLimit } from 'nestjs-valkey-rate-limit';
import { Catalogue, type Product } from './catalogue.js';
import { Sales } from './sales.js';

@Controller('products')
@RateLimit('api', 'api-next')
export class ProductsController {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly sales: Sales,
  ) {}

  @Get()
  list(): readonly Product[] {
    return this.catalogue.list();
  }

  @Get(':id')
  find(@Param('id') id: string): Product {
    const product = this.catalogue.find(id);
    if (product === undefined) throw new NotFoundException(`There is no product "${id}".`);
    return product;
  }

  /** Nice to have, and the most work of all: the first to be refused when there is too much. */
  @Get(':id/bought-with')
  @Priority('background')
  boughtWith(@Param('id') id: string): readonly Product[] {
    return this.sales.boughtWith(this.find(id));
  }
}
