// The directions of DESIGN: decision <- algorithms <- storage <- limiter <- telemetry <- http <- nest <- apps.
const rooms = ['decision', 'algorithms', 'storage', 'limiter', 'telemetry', 'http', 'nest'];
const src = '^libs/rate-limit/src';

/** A room may import only from itself and from the rooms before it. */
const directions = rooms.slice(0, -1).map((room, index) => ({
  name: `direction-${room}`,
  comment: `${room}/ may import only from ${rooms.slice(0, index + 1).join(', ')}`,
  severity: 'error',
  from: { path: `${src}/${room}/`, pathNot: '[.]spec[.]ts$' },
  to: { path: `${src}/(${rooms.slice(index + 1).join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...directions,
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'only-nest-imports-nest',
      severity: 'error',
      from: { path: `${src}/(?!nest/)` },
      to: { path: '^(node_modules/)?@nestjs/' },
    },
    {
      name: 'only-valkey-store-imports-the-client',
      severity: 'error',
      comment: 'the lab measures plain layouts beside the library',
      from: {
        path: '^(libs|apps)/',
        pathNot: `${src}/storage/valkey/|/testing/|[.]spec[.]ts$|^apps/lab/src/valkey/`,
      },
      to: { path: '^(node_modules/)?iovalkey' },
    },
    {
      name: 'nothing-inside-imports-the-door',
      severity: 'error',
      from: { path: `${src}/` },
      to: { path: `${src}/index[.]ts$` },
    },
    {
      name: 'apps-use-the-door',
      comment:
        'applications import the package, never its insides; but for what the lab runs in a browser (ADR 15)',
      severity: 'error',
      from: { path: '^apps/', pathNot: '^apps/lab/src/side-by-side/library[.]ts$' },
      to: { path: `${src}/(?!index[.]ts$)` },
    },
    {
      name: 'no-tests-in-the-product',
      comment: 'the lab starts a local Valkey as the tests do',
      severity: 'error',
      from: { path: '^(libs|apps)/[^/]+/src/', pathNot: '[.]spec[.]ts$|^apps/lab/src/valkey/' },
      to: { path: '[.]spec[.]ts$|/testing/|^test/|^tools/' },
    },
    {
      name: 'no-unlisted-packages',
      comment: 'an optional peer also counts as npm-no-pkg, because peerDependenciesMeta names it',
      severity: 'error',
      from: { path: '^(libs|apps)/[^/]+/src/', pathNot: '[.]spec[.]ts$' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'],
        dependencyTypesNot: ['npm-peer'],
      },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The generated Lua modules import nothing, and `.lua.js` is not resolved to `.lua.ts`.
    exclude: { path: '(^|/)dist/|[.]lua[.](js|ts)$' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
