import { attack } from './attack.js';
import { bytes } from './bytes.js';
import { decisions } from './decisions.js';
import type { Group } from './group.js';
import { growth } from './growth.js';
import { http } from './http.js';
import { slices } from './slices.js';
import { memory } from './memory.js';
import { million } from './million.js';
import { refused } from './refused.js';
import { unused } from './unused.js';

/** In the order in which they run and are shown. */
export const GROUPS: Readonly<Record<string, Group>> = {
  http,
  refused,
  decisions,
  memory,
  million,
  bytes,
  attack,
  growth,
  slices,
  unused,
};
