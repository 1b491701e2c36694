import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';

let bucket: TestBucket;
let publicBucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
  publicBucket = await makeBucket({ isPublic: true });
});

describe('case 46: AWS_PROFILE', () => {
  const noKeys = {
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_EC2_METADATA_DISABLED: 'true',
  };

  test('set by another tool: the exported keys are used, as in the AWS CLI', async () => {
    await using job = await startJob(bucket);
    const file = join(job.workspace, 'credentials');
    await writeFile(file, '[other]\naws_access_key_id = AKIDOFOTHER\naws_secret_access_key = wrong\n');
    const env = { AWS_PROFILE: 'other', AWS_SHARED_CREDENTIALS_FILE: file };
    const result = await job.step('find', {}, env);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.log).not.toContain('AWS_PROFILE');
  });

  test('names a missing profile: the exported keys are used', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', {}, { AWS_PROFILE: 'nobody' });
    expect(result).toMatchObject({ code: 0, errors: [] });
  });

  test('without exported keys: the profile is used', async () => {
    await using job = await startJob(bucket);
    const file = join(job.workspace, 'credentials');
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = bucket.env;
    await writeFile(
      file,
      `[mine]\naws_access_key_id = ${AWS_ACCESS_KEY_ID}\naws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}\n`,
    );
    const env = { ...noKeys, AWS_PROFILE: 'mine', AWS_SHARED_CREDENTIALS_FILE: file };
    expect(await job.step('find', {}, env)).toMatchObject({ code: 0, errors: [] });
  });

  test.each([
    ['unset', noKeys],
    ['empty', { ...noKeys, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }],
  ])('names a missing profile, keys %s: the error names variable and profile', async (_title, env) => {
    await using job = await startJob(bucket);
    const result = await job.step('find', {}, { ...env, AWS_PROFILE: 'nobody' });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringMatching(/AWS_PROFILE.*nobody/)]);
  });
});

describe('case 47: keys that were pasted badly', () => {
  const secret = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY';
  const bad: [title: string, make: (value: string) => string][] = [
    ['a line break after it', (value) => `${value}\n`],
    ['a carriage return after it', (value) => `${value}\r`],
    ['a line break before it', (value) => `\n${value}`],
    ['a space after it', (value) => `${value} `],
    ['a tab before it', (value) => `\t${value}`],
    ['a line break in it', (value) => `${value.slice(0, 5)}\n${value.slice(5)}`],
    ['a space in it', (value) => `${value.slice(0, 5)} ${value.slice(5)}`],
    ['double quotes around it', (value) => `"${value}"`],
    ['single quotes around it', (value) => `'${value}'`],
    ['a no-break space after it', (value) => `${value}\u00a0`],
    ['a byte order mark before it', (value) => `\ufeff${value}`],
    ['an escape character in it', (value) => `${value}\u001b`],
  ];
  const variables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];

  test.each(variables)('%s: the error names it without its value, and nothing is sent', async (name) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    for (const [title, make] of bad) {
      const env = { [name]: make(secret) };
      const result = await job.step('find', { 'endpoint-url': proxy.endpoint, 'on-error': 'fail' }, env);
      expect([title, result.code, result.errors]).toEqual([title, 1, [expect.stringContaining(name)]]);
      expect(result.log).not.toContain(secret.slice(5));
    }
    expect(proxy.requests).toEqual([]);
  });

  test('are ignored with no-sign-request', async () => {
    await using job = await startJob(publicBucket);
    const env = { AWS_ACCESS_KEY_ID: 'bad key', AWS_SECRET_ACCESS_KEY: `${secret}\n` };
    expect(await job.step('find', { 'no-sign-request': 'true' }, env)).toMatchObject({ code: 0, errors: [] });
  });

  test.each([
    ['AWS_SECRET_ACCESS_KEY', undefined],
    ['AWS_SECRET_ACCESS_KEY', ''],
    ['AWS_ACCESS_KEY_ID', undefined],
    ['AWS_ACCESS_KEY_ID', ''],
  ])('only %s is missing (%j): the error names it, and on-error applies', async (name, value) => {
    await using job = await startJob(bucket);
    const env = { [name]: value, AWS_EC2_METADATA_DISABLED: 'true' };
    const result = await job.step('find', {}, env);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining(name)]);
    const lenient = await job.step('find', { 'on-error': 'build' }, env);
    expect([lenient.code, lenient.outputs['skip-build']]).toEqual([0, 'false']);
  });

  test('a secret key without an access key id: the profile is used, as in the AWS CLI', async () => {
    await using job = await startJob(bucket);
    const file = join(job.workspace, 'credentials');
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = bucket.env;
    await writeFile(
      file,
      `[default]\naws_access_key_id = ${AWS_ACCESS_KEY_ID}\naws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}\n`,
    );
    const env = { AWS_ACCESS_KEY_ID: '', AWS_SHARED_CREDENTIALS_FILE: file };
    expect(await job.step('find', {}, env)).toMatchObject({ code: 0, errors: [] });
  });
});
