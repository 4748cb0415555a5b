import { Injectable } from '@nestjs/common';
import { Catalogue, type Product } from './catalogue.js';

const SALES = 400_000;

/** Demonstration data, the same at each start: a bit for each of the first eight products that somebody bought at once. */
const sales = Uint8Array.from({ length: SALES }, (_, index) => Math.imul(index, 0x9e37_79b1) >>> 24);

@Injectable()
export class Sales {
  constructor(private readonly catalogue: Catalogue) {}

  /**
   * What was bought together with a product, most often first. All sales are looked at each time: work of a few milliseconds
   * for this process, which can wait when there is more to do than can be done.
   */
  boughtWith(product: Product): readonly Product[] {
    const products = this.catalogue.list();
    const wanted = 1 << products.indexOf(product);
    const together = new Uint32Array(256);
    for (const sale of sales) if ((sale & wanted) !== 0) together[sale]! += 1;
    const count = (bit: number) =>
      together.reduce((sum, times, sale) => sum + ((sale >> bit) & 1) * times, 0);
    const counts = new Map(products.map((each, bit) => [each, count(bit)]));
    return products
      .filter((each) => each !== product)
      .toSorted((one, other) => counts.get(other)! - counts.get(one)!);
  }
}
