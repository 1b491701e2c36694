import { describe, expect, test } from '@jest/globals';
import { readProxies } from '../src/actions/proxy.ts';
import { WheelStoreError } from '../src/errors.ts';

const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

describe('case 44: a proxy variable that is not a URL is refused by name, and not repeated', () => {
  test.each([
    ['a port above 65535', 'http://user:s3cretpw@proxy.corp:99999'],
    ['a slash in the password', 'http://user:s3/cretpw@proxy.corp:3128'],
    ['a slash behind digits', 'http://user:12/s3cretpw@proxy.corp:3128'],
    ['a hash', 'http://user:s3#cretpw@proxy.corp:3128'],
    ['a question mark', 'https://user:?s3cretpw@proxy.corp:3128'],
    ['a per cent sign', 'http://user:s3%zzcretpw@proxy.corp:3128'],
    ['a byte that is not UTF-8', 'http://user:s3%ffcretpw@proxy.corp:3128'],
    ['a line break', 'http://user:s3cretpw@proxy.corp:3128\n'],
    ['no host', 'http://user:s3cretpw@'],
  ])('%s', (_title, address) => {
    for (const name of NAMES) {
      const read = () => readProxies({ [name]: address });
      expect(read).toThrow(WheelStoreError);
      expect(read).toThrow(name);
      expect(read).not.toThrow(/s3|cretpw/);
    }
  });
});

test.each([
  [''],
  ['http://proxy.corp'],
  ['http://user:s3cretpw@proxy.corp:3128'],
  ['http://user:s3%2Fcret%40pw@proxy.corp:3128/'],
  ['http://user:s3@cretpw@proxy.corp:3128'],
  ['https://[::1]:3128'],
])('case 44: %p is taken', (address) => {
  for (const name of NAMES) expect(readProxies({ [name]: address, NO_PROXY: 'x' })[name]).toBe(address);
});
