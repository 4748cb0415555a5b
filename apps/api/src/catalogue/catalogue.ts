import { Injectable } from '@nestjs/common';

export interface Product {
  readonly id: string;
  readonly name: string;
  /** In cents, so that nothing is lost to rounding. */
  readonly price: number;
}

const PRODUCTS: readonly Product[] = [
  { id: 'kettle', name: 'Kettle', price: 3_900 },
  { id: 'teapot', name: 'Teapot', price: 2_450 },
  { id: 'cup', name: 'Cup', price: 690 },
  { id: 'strainer', name: 'Strainer', price: 420 },
];

const PAGE = 2;

@Injectable()
export class Catalogue {
  readonly #byId = new Map(PRODUCTS.map((product) => [product.id, product]));

  list(): readonly Product[] {
    return PRODUCTS;
  }

  find(id: string): Product | undefined {
    return this.#byId.get(id);
  }

  /** As many pages as asked for, from the first. */
  search(text: string, pages: number): readonly Product[] {
    const found = PRODUCTS.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
    return found.slice(0, pages * PAGE);
  }
}
