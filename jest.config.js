export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/__tests__/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest-transform.js' },
  modulePathIgnorePatterns: ['<rootDir>/.tools/', '<rootDir>/dist/'],
  globalSetup: '<rootDir>/__tests__/stand-ins/start-server.ts',
  globalTeardown: '<rootDir>/__tests__/stand-ins/stop-server.ts',
  // Each test of a built action starts processes of its own, on machines that may be slow and shared.
  testTimeout: 120_000,
};
