import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { Catalogue, type Product } from './catalogue.js';

@Controller('products')
@RateLimit('api', 'api-next')
export class ProductsController {
  constructor(private readonly catalogue: Catalogue) {}

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
}
