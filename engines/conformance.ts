/**
 * Runs the contract tests against each S3 engine that this machine can have, or those that are named, and prints
 * what passed and the titles of what did not.
 *
 *     npm run conformance [-- versitygw moto]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { engines, type ProbedEngine } from './engines.ts';

/** What does not depend on chance, nor on SeaweedFS answering to AWS's host names. */
const SUITES = 'contract/(store|find|fetch|matrix|index-page|install|network|faults)';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const wanted = process.argv.slice(2);
for (const engine of engines()) {
  if (wanted.length > 0 && !wanted.includes(engine.name)) continue;
  const report = await examine(engine);
  if (report === undefined) {
    console.log(`${engine.name}: not to be had on this machine`);
    continue;
  }
  console.log(`${engine.name}: ${report.numPassedTests} passed, ${report.numFailedTests} failed`);
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  for (const { fullName, status } of results) if (status === 'failed') console.log(`  ✗ ${fullName}`);
}

async function examine(engine: ProbedEngine): Promise<Report | undefined> {
  if ((await engine.install()) === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const server = await engine.start();
  try {
    const report = join(folder, 'report.json');
    const env = {
      ...process.env,
      WHEEL_STORE_TEST_REPORT: report,
      WHEEL_STORE_TEST_ENDPOINT: server.endpoint,
      WHEEL_STORE_TEST_REGION: server.region,
      WHEEL_STORE_TEST_ACCESS_KEY_ID: server.accessKeyId,
      WHEEL_STORE_TEST_SECRET_ACCESS_KEY: server.secretAccessKey,
    };
    // Not waited for in one block: the engine would stand still as soon as nobody reads what it logs.
    const tests = spawn(process.execPath, [resolve(import.meta.dirname, '../testing/test.ts'), SUITES], {
      env,
      stdio: 'ignore',
    });
    await once(tests, 'exit');
    return JSON.parse(await readFile(report, 'utf8')) as Report;
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
