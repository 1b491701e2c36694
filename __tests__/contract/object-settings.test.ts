import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GetObjectTaggingCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { clientOf, startS3Server } from '../../testing/s3-server.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(20 * 1024 * 1024) }, level: 0 } as const;
const ENCRYPTION = 'x-amz-server-side-encryption';
const KEY = 'x-amz-server-side-encryption-aws-kms-key-id';
const HEADERS = [ENCRYPTION, KEY, 'x-amz-acl', 'x-amz-storage-class', 'x-amz-tagging', 'x-amz-request-payer'];
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const isWrite = ({ operation }: SeenRequest) => operation === 'put' || operation === 'create-upload';
const settingsIn = ({ headers }: SeenRequest) =>
  Object.fromEntries(HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
/** S3's message for an explicit deny since 2024. */
const denied = (how = 'with an explicit deny in a resource-based policy', action = 's3:PutObject') =>
  s3Error(
    403,
    'AccessDenied',
    `User: arn:aws:sts::123456789012:assumed-role/ci/build is not authorized to perform: ${action} on resource: &quot;arn:aws:s3:::wheels/x.whl&quot; ${how}`,
  );

describe('case 66: the settings are sent with everything that a store writes', () => {
  test.each([
    ['a small wheel', {}, 'put'],
    ['a large wheel', LARGE, 'create-upload'],
  ] as const)('%s', async (_title, contents, operation) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const path = await makeWheel(job.dist, W, contents);
    const result = await job.step('store', {
      'endpoint-url': proxy.endpoint,
      'server-side-encryption': 'AES256',
      acl: 'bucket-owner-full-control',
      'storage-class': 'STANDARD_IA',
      tags: 'expire=yes, team=wheel folk',
    });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs['skip-build']).toBe('false');
    const small = {
      [ENCRYPTION]: 'AES256',
      'x-amz-acl': 'bucket-owner-full-control',
      'x-amz-tagging': 'expire=yes&team=wheel%20folk',
    };
    const writes = proxy.requests.filter(isWrite);
    for (const seen of writes)
      expect(settingsIn(seen)).toEqual(
        seen.path.endsWith('.whl') ? { ...small, 'x-amz-storage-class': 'STANDARD_IA' } : small,
      );
    const kinds = writes.map(({ path: key, operation: how }) => `${how} ${key.split(/[/.]/).at(-1)}`);
    expect(kinds).toEqual(['put claim', `${operation} whl`, 'put html', 'put html']);
    expect(proxy.requests.filter((seen) => !isWrite(seen)).map(settingsIn)).toEqual(
      proxy.requests.filter((seen) => !isWrite(seen)).map(() => ({})),
    );
    // An encrypted wheel is downloaded unchanged, even if its ETag isn't an MD5.
    const { ServerSideEncryption, StorageClass } = await bucket.head(job.key(W));
    expect({ ServerSideEncryption, StorageClass }).toEqual({
      ServerSideEncryption: 'AES256',
      StorageClass: 'STANDARD_IA',
    });
    const client = clientOf(await startS3Server());
    for (const key of [job.key(W), `${job.prefix}/${COMMIT}/index.html`]) {
      const { TagSet } = await client.send(new GetObjectTaggingCommand({ Bucket: bucket.name, Key: key }));
      expect(TagSet?.map((tag) => `${tag.Key}=${tag.Value}`).sort()).toEqual([
        'expire=yes',
        'team=wheel folk',
      ]);
    }
    client.destroy();
    expect(await job.step('fetch', { path: 'new' })).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect((await readFile(join(job.workspace, 'new', W))).equals(await readFile(path))).toBe(true);
    const again = await job.step('store', { 'server-side-encryption': 'AES256' });
    expect(again).toMatchObject({ code: 0, errors: [], warnings: [] });
  });

  test.each(['aws:kms', 'aws:kms:dsse'])('a KMS key with %s', async (encryption) => {
    await using job = await startJob(bucket);
    // The test server has no KMS, so the proxy removes these headers.
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) =>
      isWrite(seen) ? { without: [ENCRYPTION, KEY] } : undefined,
    );
    await makeWheel(job.dist, W);
    const result = await job.step('store', {
      'endpoint-url': proxy.endpoint,
      'server-side-encryption': encryption,
      'kms-key-id': 'alias/wheels',
    });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    const writes = proxy.requests.filter(isWrite);
    expect(writes).toHaveLength(4);
    for (const seen of writes)
      expect(settingsIn(seen)).toEqual({ [ENCRYPTION]: encryption, [KEY]: 'alias/wheels' });
  });

  test('an ETag that differs between listing and put: the same wheel', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) =>
      operation === 'put' && path.endsWith('.whl')
        ? { change: (response) => ({ ...response, headers: { ...response.headers, etag: '"0123-kms"' } }) }
        : undefined,
    );
    await makeWheel(job.dist, W);
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
  });

  test('settings that are not set are not sent', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await makeWheel(job.dist, W);
    await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(proxy.requests.map(settingsIn)).toEqual(proxy.requests.map(() => ({})));
  });
});

describe('case 66: request-payer', () => {
  test('is sent with every request, and is part of presigned URLs, which work', async () => {
    await using job = await startJob(bucket);
    const bytes = await readFile(await makeWheel(job.dist, W, LARGE));
    // S3 does the same for such a bucket.
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers, url }) =>
      headers['x-amz-request-payer'] === 'requester' || url.includes('x-amz-request-payer=requester')
        ? undefined
        : s3Error(403, 'AccessDenied', 'Access Denied'),
    );
    const inputs = { 'endpoint-url': proxy.endpoint, 'request-payer': 'requester', presign: '900' };
    const stored = await job.step('store', inputs);
    expect(stored).toMatchObject({ code: 0, errors: [] });
    const found = await job.step('find', inputs);
    expect(found).toMatchObject({ code: 0, errors: [] });
    expect(await job.step('fetch', { ...inputs, path: 'new' })).toMatchObject({ code: 0, errors: [] });
    expect(new Set(proxy.requests.map(({ operation }) => operation))).toEqual(
      new Set(['put', 'list', 'create-upload', 'part', 'complete', 'get', 'head', 'delete']),
    );
    expect(new Set(proxy.requests.map(({ headers }) => headers['x-amz-request-payer']))).toEqual(
      new Set(['requester']),
    );
    const response = await fetch(found.outputs['wheel-url']!);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test.each(['find', 'fetch', 'store'] as const)(
    '%s: the error names the input if S3’s message is about it',
    async (action) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      await using proxy = await startFaultProxy(bucket.endpoint, () =>
        s3Error(403, 'AccessDenied', 'The bucket is configured as Requester Pays'),
      );
      const { code, errors } = await job.step(action, { 'endpoint-url': proxy.endpoint });
      expect(code).toBe(1);
      expect(errors[0]).toContain("'request-payer'");
      expect(errors[0]).not.toContain('Allow s3:');
    },
  );
});

describe('case 66: the error of a refused put names the input', () => {
  test.each<[title: string, header: string, inputs: Record<string, string>]>([
    ['encryption', ENCRYPTION, { 'server-side-encryption': 'AES256' }],
    ['an ACL', 'x-amz-acl', { acl: 'bucket-owner-full-control' }],
    ['a tag', 'x-amz-tagging', { tags: 'team=wheels' }],
  ])('a policy that requires %s', async (_title, header, inputs) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) =>
      isWrite(seen) && seen.headers[header] === undefined ? denied() : undefined,
    );
    const without = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(without).toMatchObject({ code: 1 });
    expect(without.errors[0]).toContain(`'${Object.keys(inputs)[0]}'`);
    expect(without.errors[0]).not.toContain('Allow s3:PutObject');
    expect(await job.keys()).toEqual([]);
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint, ...inputs });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs['index-url']).not.toBe('');
  });

  const ACL = { acl: 'public-read' };
  test.each<
    [title: string, fault: Fault, inputs: Record<string, string>, expected: RegExp, unexpected: RegExp]
  >([
    [
      'a deny by an organisation',
      denied('with an explicit deny in a service control policy'),
      {},
      /'server-side-encryption' or 'acl'/,
      /Allow s3:/,
    ],
    [
      'a message about the header',
      s3Error(403, 'AccessDenied', 'x-amz-server-side-encryption: aws:kms is required'),
      {},
      /Set the input 'server-side-encryption'/,
      /Allow s3:|'acl'|KMS refused/,
    ],
    [
      'a message about encryption',
      s3Error(403, 'AccessDenied', 'Objects must be encrypted'),
      {},
      /Set the input 'server-side-encryption'/,
      /Allow s3:|'acl'/,
    ],
    [
      'a wrong encryption',
      s3Error(403, 'AccessDenied', 'Objects must be encrypted'),
      { 'server-side-encryption': 'AES256' },
      /server-side-encryption is AES256/,
      /Allow s3:/,
    ],
    [
      'a message about the ACL',
      s3Error(403, 'AccessDenied', 'ACL bucket-owner-full-control is required'),
      {},
      /Set the input 'acl'/,
      /Allow s3:|'server-side/,
    ],
    [
      'a role that may not put',
      denied('because no identity-based policy allows the s3:PutObject action'),
      {},
      /Allow s3:PutObject on/,
      /'acl'|'server-side/,
    ],
    [
      'a role that may not set ACLs',
      denied('because no identity-based policy allows the s3:PutObjectAcl action', 's3:PutObjectAcl'),
      ACL,
      /Allow s3:PutObjectAcl on .*remove 'acl'/,
      /Allow s3:PutObject on/,
    ],
    [
      'a role that may not tag',
      denied('because no identity-based policy allows the s3:PutObjectTagging action', 's3:PutObjectTagging'),
      { tags: 'a=b' },
      /Allow s3:PutObjectTagging on .*remove 'tags'/,
      /Allow s3:PutObject on/,
    ],
    [
      'no reason at all',
      s3Error(403, 'AccessDenied', 'Access Denied'),
      {},
      /Allow s3:PutObject on .*set 'server-side-encryption' or 'acl'/,
      /PutObjectAcl/,
    ],
    [
      'no reason at all, with an ACL',
      s3Error(403, 'AccessDenied', 'Access Denied'),
      ACL,
      /'acl' needs s3:PutObjectAcl as well.*set 'server-side-encryption'\./,
      /Tagging/,
    ],
    [
      'a bucket without ACLs',
      s3Error(400, 'AccessControlListNotSupported', 'The bucket does not allow ACLs'),
      ACL,
      /'acl' \(public-read\).*Remove 'acl'/,
      /Allow s3:/,
    ],
    [
      'a storage class that the store does not support',
      s3Error(400, 'InvalidStorageClass', 'The storage class you specified is not valid'),
      { 'storage-class': 'SNOW' },
      /'storage-class' \(SNOW\)/,
      /Allow s3:/,
    ],
    [
      'tags that the store does not accept',
      s3Error(400, 'InvalidTag', 'The tag provided was not a valid tag'),
      { tags: 'a=b' },
      /'tags'/,
      /Allow s3:/,
    ],
    [
      'an encryption that the store does not support',
      s3Error(400, 'InvalidArgument', 'The encryption method specified is not supported'),
      { 'server-side-encryption': 'aws:kms:dsse' },
      /'server-side-encryption' \(aws:kms:dsse\)/,
      /Allow s3:/,
    ],
    [
      'a store that supports none of the settings',
      s3Error(501, 'NotImplemented', 'A header you provided implies functionality that is not implemented'),
      { tags: 'a=b', ...ACL },
      /'acl' or 'tags'/,
      /Allow s3:/,
    ],
    [
      'a key that the role may not use',
      denied('because no identity-based policy allows the kms:GenerateDataKey action', 'kms:GenerateDataKey'),
      { 'server-side-encryption': 'aws:kms' },
      /kms:GenerateDataKey/,
      /Allow s3:|Set the input/,
    ],
    [
      'a key whose policy denies it',
      denied('with an explicit deny in a resource-based policy', 'kms:GenerateDataKey'),
      { 'server-side-encryption': 'aws:kms' },
      /Let the role of this job use the key/,
      /Allow s3:|Set the input/,
    ],
    [
      'a key that does not exist',
      s3Error(400, 'KMS.NotFoundException', 'Invalid keyId alias/none'),
      { 'server-side-encryption': 'aws:kms' },
      /alias\/none \(KMS\.NotFoundException\)/,
      /Allow s3:/,
    ],
  ])('%s', async (_title, fault, inputs, expected, unexpected) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) => (isWrite(seen) ? fault : undefined));
    const { code, errors } = await job.step('store', { 'endpoint-url': proxy.endpoint, ...inputs });
    expect({ code, errors: errors.length }).toEqual({ code: 1, errors: 1 });
    expect(errors[0]).toMatch(expected);
    expect(errors[0]).not.toMatch(unexpected);
  });

  test.each([
    ['kms-key-id', { 'kms-key-id': 'k' }],
    ['tags', { tags: 'a' }],
    ['acl', { acl: 'none' }],
    ['storage-class', { 'storage-class': 'GLACIER' }],
    ['server-side-encryption', { 'server-side-encryption': 'yes' }],
    ['request-payer', { 'request-payer': 'owner' }],
  ] as [string, Record<string, string>][])(
    'an invalid %s is refused before any request',
    async (name, inputs) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      await using proxy = await startFaultProxy(bucket.endpoint);
      const { code, errors } = await job.step('store', { 'endpoint-url': proxy.endpoint, ...inputs });
      expect({ code, errors: errors.length }).toEqual({ code: 1, errors: 1 });
      expect(errors[0]).toContain(`'${name}'`);
      expect(proxy.requests).toEqual([]);
    },
  );
});
