import { BadRequestException } from '@nestjs/common';

export const MOST_PAGES = 10;

/** @returns the number of pages, if a search may have so many */
export function checkPages(pages: number): number {
  if (pages >= 1 && pages <= MOST_PAGES) return pages;
  throw new BadRequestException(`pages is a whole number from 1 to ${MOST_PAGES}.`);
}
