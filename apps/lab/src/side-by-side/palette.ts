/** What pictures are drawn in. Shapes differ as well: nothing is told by colour alone. */
export interface Palette {
  readonly paper: string;
  readonly text: string;
  readonly quiet: string;
  readonly grid: string;
  readonly axis: string;
  readonly level: string;
  readonly allowed: string;
  readonly waiting: string;
  readonly refused: string;
}

export const LIGHT: Palette = {
  paper: '#ffffff',
  text: '#1f2328',
  quiet: '#59636e',
  grid: '#d1d9e0',
  axis: '#818b98',
  level: '#0969da',
  allowed: '#1a7f37',
  waiting: '#9a6700',
  refused: '#cf222e',
};

export const DARK: Palette = {
  paper: '#0d1117',
  text: '#f0f6fc',
  quiet: '#9198a1',
  grid: '#3d444d',
  axis: '#7d8590',
  level: '#4493f8',
  allowed: '#3fb950',
  waiting: '#d29922',
  refused: '#f85149',
};
