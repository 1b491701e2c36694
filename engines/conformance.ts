/**
 * Runs the contract tests against all S3 engines that are available on this machine, or against the given ones. Prints
 * the number of passed tests and the titles of failed ones.
 *
 *     npm run conformance [-- versitygw moto]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { engines, type ProbedEngine } from './engines.ts';

/** The suites that are deterministic, and do not need SeaweedFS under the host names of AWS. */
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
    console.log(`${engine.name}: not available on this machine`);
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
    // Not spawnSync: the engine would block once the pipe of its log is full.
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
