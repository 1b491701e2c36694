import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { startLocalServer } from '../../testing/local-server.ts';
import type { StepResult } from '../../testing/runner.ts';

const SECRET = 's3cretArgument';
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvOm9jdG8vZGVtbyJ9.c2lnbmF0dXJl';
const NO_KEYS = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_EC2_METADATA_DISABLED: 'true',
};
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** A server that sends the same response to every request. */
function startResponder(status: number, body: string, type = 'text/xml') {
  return startLocalServer((incoming, response) => {
    incoming.resume();
    response.writeHead(status, { 'content-type': type }).end(body);
  });
}

function stsError(code: string, message: string): string {
  return `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>r</RequestId></ErrorResponse>`;
}

async function withProfile(job: Job, lines: string): Promise<Record<string, string>> {
  const file = join(job.workspace, 'aws-config');
  await writeFile(file, `[default]\n${lines}\n`);
  return { AWS_CONFIG_FILE: file, AWS_SHARED_CREDENTIALS_FILE: join(job.workspace, 'none') };
}

function expectSource(result: StepResult, pattern: RegExp): void {
  expect(result.code).toBe(1);
  const [error] = result.commands.filter(({ name }) => name === 'error');
  expect(error?.properties.title).toBe('AWS credentials unavailable');
  expect(error?.message).toMatch(pattern);
  expect(error?.message).not.toMatch(/Allow s3:|s3:ListBucket/);
  expect(result.log).not.toContain(SECRET);
  expect(result.log).not.toContain(TOKEN);
}

describe('case 62: a configured source of credentials that fails is named, with the reason', () => {
  const role = { AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/wheels' };

  test.each([
    ['AccessDenied', 403, 'Not authorized to perform sts:AssumeRoleWithWebIdentity'],
    ['InvalidIdentityToken', 400, 'No OpenIDConnect provider found in your account'],
    ['ExpiredTokenException', 400, 'Token expired: current date/time must be before the expiration'],
  ])('STS refuses: %s', async (code, status, message) => {
    await using job = await startJob(bucket);
    await using sts = await startResponder(status, stsError(code, `${message} ${TOKEN}`));
    const file = join(job.workspace, 'token');
    await writeFile(file, TOKEN);
    const env = { ...NO_KEYS, ...role, AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ENDPOINT_URL_STS: sts.url };
    const result = await job.step('find', {}, { ...env, RUNNER_DEBUG: '1' });
    expectSource(result, new RegExp(`${message}.*${code}`));
  });

  test('STS cannot be reached', async () => {
    await using job = await startJob(bucket);
    const file = join(job.workspace, 'token');
    await writeFile(file, TOKEN);
    const sts = { AWS_ENDPOINT_URL_STS: 'http://127.0.0.1:9', AWS_MAX_ATTEMPTS: '1' };
    const env = { ...NO_KEYS, ...role, ...sts, AWS_WEB_IDENTITY_TOKEN_FILE: file };
    expectSource(await job.step('find', {}, env), /ECONNREFUSED 127\.0\.0\.1:9/);
  });

  test('the token file is missing', async () => {
    await using job = await startJob(bucket);
    const env = { ...NO_KEYS, ...role, AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere/token' };
    expectSource(await job.step('find', {}, env), /ENOENT.*\/nowhere\/token/);
  });

  test('credential_process fails: the error contains its message, but not its arguments', async () => {
    await using job = await startJob(bucket);
    const program = join(job.workspace, 'fails');
    await writeFile(program, `#!/bin/sh\necho vault is sealed, password=${SECRET} >&2\nexit 3\n`);
    await chmod(program, 0o755);
    const env = await withProfile(job, `credential_process = ${program} --password ${SECRET}`);
    expectSource(await job.step('find', {}, { ...NO_KEYS, ...env }), /vault is sealed/);
  });

  test('credential_process does not print JSON', async () => {
    await using job = await startJob(bucket);
    const env = await withProfile(job, 'credential_process = echo not-json');
    expectSource(await job.step('find', {}, { ...NO_KEYS, ...env }), /invalid JSON/);
  });

  test('not signed in to SSO', async () => {
    await using job = await startJob(bucket);
    await mkdir(join(job.workspace, '.aws'), { recursive: true });
    const env = await withProfile(
      job,
      'sso_start_url = https://octo.awsapps.com/start\nsso_region = us-east-1\nsso_account_id = 123456789012\nsso_role_name = wheels',
    );
    const result = await job.step('find', {}, { ...NO_KEYS, ...env, HOME: job.workspace });
    expectSource(result, /SSO session.*aws sso login/);
  });

  test('the container’s credential endpoint fails', async () => {
    await using job = await startJob(bucket);
    await using endpoint = await startResponder(
      403,
      '{"Code":"AccessDenied","Message":"pod has no identity"}',
      'application/json',
    );
    const env = {
      ...NO_KEYS,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${endpoint.url}/x`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: SECRET,
    };
    expectSource(await job.step('find', {}, env), /AWS_CONTAINER_CREDENTIALS_FULL_URI/);
  });

  test('a metadata service that is not configured does not count as a failed source', async () => {
    await using job = await startJob(bucket);
    await using imds = await startResponder(404, 'not here', 'text/plain');
    const env = {
      ...NO_KEYS,
      AWS_EC2_METADATA_DISABLED: undefined,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url,
    };
    const result = await job.step('find', {}, env);
    expect(result.errors[0]).toContain('No AWS credentials were found');
    expect(result.errors[0]).toContain('metadata service');
    expect(result.errors[0]).toContain('configure-aws-credentials');
  });
});
