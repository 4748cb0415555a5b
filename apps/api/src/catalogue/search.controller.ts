import { Controller, Get, Query } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { ForTenants } from '../tenants/for-tenants.js';
import { Catalogue, type Product } from './catalogue.js';
import { checkPages, MOST_PAGES } from './pages.js';

@Controller('v1/search')
@ForTenants()
@RateLimit('requests')
export class SearchController {
  constructor(private readonly catalogue: Catalogue) {}

  /** A request for five pages takes five of the limit for searches, and one of that for requests. */
  @Get()
  @RateLimit('search', { cost: ({ request }) => request['query'].pages })
  @ApiQuery({ name: 'q', required: false, schema: { type: 'string' } })
  @ApiQuery({ name: 'pages', required: false, schema: { type: 'integer', minimum: 1, maximum: MOST_PAGES } })
  search(@Query('q') text: unknown, @Query('pages') pages: unknown): readonly Product[] {
    return this.catalogue.search(typeof text === 'string' ? text : '', readPages(pages));
  }
}

function readPages(text: unknown): number {
  if (text === undefined) return 1;
  return checkPages(typeof text === 'string' && /^\d{1,2}$/.test(text) ? Number(text) : 0);
}
