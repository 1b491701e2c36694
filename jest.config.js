import { availableParallelism } from 'node:os';

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/__tests__/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/testing/jest-transform.js' },
  modulePathIgnorePatterns: ['<rootDir>/.tools/', '<rootDir>/dist/'],
  globalSetup: '<rootDir>/testing/start-server.ts',
  globalTeardown: '<rootDir>/testing/stop-server.ts',
  // Most of the time goes into processes that wait, so one worker would leave a machine of two cores idle.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // Tests of the built actions start several processes each, on machines that may be slow and shared.
  testTimeout: 300_000,
};
