/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // Real servers and processes on a machine that may be busy: a test that hangs is to fail, a slow one is not.
  testTimeout: 30_000,
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': ['$1.ts', '$1.js'],
    '^nestjs-valkey-rate-limit$': '<rootDir>/libs/rate-limit/src/index.ts',
  },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  testMatch: ['<rootDir>/{libs,apps,test,tools}/**/*.spec.ts'],
  testPathIgnorePatterns: ['/dist/', '/node_modules/'],
  globalSetup: '<rootDir>/tools/jest-global-setup.mjs',
  globalTeardown: '<rootDir>/tools/jest-global-teardown.mjs',
};
