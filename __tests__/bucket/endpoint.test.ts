import { describe, expect, test } from '@jest/globals';
import { namesBucket } from '../../src/bucket/endpoint.ts';

describe('case 64: where an endpoint contains the bucket name', () => {
  test.each([
    ['https://host/my-wheels', 'path'],
    ['https://host/my-wheels/', 'path'],
    ['https://host//my-wheels//', 'path'],
    ['https://host:9000/my-wheels', 'path'],
    ['https://host/my%2Dwheels', 'path'],
    ['https://host/my-wheels/builds', 'path'],
    ['https://host/gateway/my-wheels', 'path'],
    ['https://abc.r2.cloudflarestorage.com/my-wheels', 'path'],
    ['https://my-wheels.s3.us-west-2.amazonaws.com', 'host'],
    ['https://my-wheels.nyc3.digitaloceanspaces.com/', 'host'],
    ['https://MY-WHEELS.host', 'host'],
    ['http://my-wheels.localhost:9000', 'host'],
    ['https://host', undefined],
    ['https://host/', undefined],
    ['https://host/ceph', undefined],
    ['https://host/my-wheels-gateway', undefined],
    ['https://host/not-my-wheels', undefined],
    ['https://abc.supabase.co/storage/v1/s3', undefined],
    ['https://my-wheels-2.host', undefined],
    ['http://my-wheels:9000', undefined],
    ['http://127.0.0.1:9000', undefined],
    ['not a URL', undefined],
  ])('%s: %s', (endpoint, where) => {
    expect(namesBucket(endpoint, 'my-wheels', undefined)).toBe(where);
  });

  test.each([
    // Supabase's path is the same for every project.
    ['https://abc.supabase.co/storage/v1/s3', 's3', undefined, undefined],
    ['https://abc.supabase.co/storage/v1/s3/', 'storage', undefined, undefined],
    ['https://abc.supabase.co/storage/v1/s3/my-wheels', 'my-wheels', undefined, 'path'],
    // A dotted name.
    ['https://wheels.example.com.s3.amazonaws.com', 'wheels.example.com', undefined, 'host'],
    // A store whose host happens to begin with the bucket name, as setting force-path-style makes clear.
    ['https://wheels.example.com', 'wheels', undefined, 'host'],
    ['https://wheels.example.com', 'wheels', true, undefined],
    ['https://wheels.example.com', 'wheels', false, undefined],
    // Hosts where the first label can only be a bucket.
    ['https://wheels.s3.amazonaws.com', 'wheels', true, 'host'],
    ['https://wheels.s3-accelerate.amazonaws.com', 'wheels', false, 'host'],
    ['https://wheels.s3.fr-par.scw.cloud', 'wheels', true, 'host'],
  ] as const)('%s with the bucket %s, force-path-style %s: %s', (endpoint, bucket, style, where) => {
    expect(namesBucket(endpoint, bucket, style)).toBe(where);
  });
});
