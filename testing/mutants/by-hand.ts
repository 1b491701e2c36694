/**
 * Important decisions, each undone in the source, and the test that must detect it. `find` must occur in the file
 * exactly once: if you change such a line, update the mutant.
 */

/** A change to one file. */
export interface Edit {
  readonly name: string;
  /** Path from the root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Arguments for jest that select the tests. */
  readonly tests: readonly string[];
}

const decisions = (title: string) => ['contract/decisions', '-t', title];
const find = (title: string) => ['contract/find.test', '-t', title];
const fetch = (title: string) => ['contract/fetch', '-t', title];
const faults = (title: string) => ['contract/faults.test', '-t', title];
const several = (title: string) => ['contract/store-several', '-t', title];
const declared = (title: string) => ['contract/declared-inputs', '-t', title];

/** The mutants that are written by hand. */
export const BY_HAND: readonly Edit[] = [
  {
    name: 'slot: the second listing is ignored',
    file: 'src/slots/place.ts',
    find: '    if (others.length === 0) return content;\n',
    replace: '    if (others.length >= 0) return content;\n',
    tests: decisions('looks again'),
  },
  {
    name: 'slot: a step removes an object that another step put',
    file: 'src/slots/own-put.ts',
    find: 'if (head?.metadata[PUT_ID] !== putId) return;',
    replace: 'if (head === undefined) return;',
    tests: decisions('does not remove an object'),
  },
  {
    name: 'slot: no claim with a custom endpoint',
    file: 'src/slots/place.ts',
    find: 'if (!bucket.honoursConditions) await own.claim.put();',
    replace: '',
    tests: faults('ignores If-None-Match'),
  },
  {
    name: 'slot: other bytes under the same name are taken for ours',
    file: 'src/slots/place.ts',
    find: 'if (head.size !== wheel.size || sha256 !== wheel.sha256) throw',
    replace: 'if (head.size < 0) throw',
    tests: decisions('other bytes are there'),
  },
  {
    name: 'upload: no If-None-Match on a single put',
    file: 'src/bucket/upload.ts',
    find: '...condition(upload), Body: body',
    replace: 'Body: body',
    tests: ['contract/aws', '-t', 'list, put, list'],
  },
  {
    name: 'upload: no If-None-Match on a completion',
    file: 'src/bucket/upload.ts',
    find: '          ...condition(upload),\n          MultipartUpload',
    replace: '          MultipartUpload',
    tests: faults('are uploaded in parts'),
  },
  {
    name: 'upload: what a failed upload sent is not aborted',
    file: 'src/bucket/upload.ts',
    find: '    await abortUpload(bucket, upload, target, cleanUpSignal);\n',
    replace: '    if (upload.size < 0) await abortUpload(bucket, upload, target, cleanUpSignal);\n',
    tests: faults('leaves no object and no parts'),
  },
  {
    name: 'index page: no If-Match',
    file: 'src/bucket/text.ts',
    find: '    await put({ IfMatch: etag });\n',
    replace: '    await put({});\n',
    tests: decisions('an index page is replaced'),
  },
  {
    name: 'look-up: run ids are compared as text',
    file: 'src/slots/layout.ts',
    find: 'return a.length - b.length || (a < b',
    replace: 'return (a < b',
    tests: find('the newest by number'),
  },
  {
    name: 'look-up: the oldest run wins',
    file: 'src/slots/listing.ts',
    find: 'compareDecimals(b.run, a.run)',
    replace: 'compareDecimals(a.run, b.run)',
    tests: find('the newest by number'),
  },
  {
    name: 'look-up: the attempt does not count',
    file: 'src/slots/listing.ts',
    find: ' || compareDecimals(b.attempt, a.attempt)',
    replace: '',
    tests: find('the newest by number'),
  },
  {
    name: 'look-up: an object of no bytes is a wheel',
    file: 'src/slots/listing.ts',
    find: 'size === 0 ? undefined : readWheelKey',
    replace: 'size < 0 ? undefined : readWheelKey',
    tests: find('an empty object'),
  },
  {
    name: 'look-up: a slot with two wheels is used',
    file: 'src/slots/listing.ts',
    find: 'slot.length === 1 || slot[0]!.run === undefined',
    replace: 'slot.length > 0',
    tests: find('a slot with two wheels'),
  },
  {
    name: 'look-up: scope attempt takes any attempt of the run',
    file: 'src/slots/listing.ts',
    find: 'return run === onlyRun && attempt === onlyAttempt;',
    replace: 'return run === onlyRun && onlyAttempt !== undefined;',
    tests: find('scope'),
  },
  {
    name: 'look-up: metadata that contradicts the key does not matter',
    file: 'src/slots/stored.ts',
    find: 'if (reason !== undefined) {',
    replace: 'if (reason === undefined && head.size < 0) {',
    tests: ['contract/trust', '-t', 'case 71'],
  },
  {
    name: 'slot: what another step relies on is removed',
    file: 'src/slots/own-put.ts',
    find: 'if (!isNeeded) await deleteObject',
    replace: 'if (isNeeded || !isNeeded) await deleteObject',
    tests: ['contract/shared-slot'],
  },
  {
    name: 'store: two wheels may have the same target',
    file: 'src/slots/own-targets.ts',
    find: 'if (shared.length > 0) throw',
    replace: 'if (shared.length < 0) throw',
    tests: several('the same target'),
  },
  {
    name: 'store: an expected wheel may be missing',
    file: 'src/actions/store.ts',
    find: 'if (wheels.length > 0) checkExpected(wheels, expect);',
    replace: '',
    tests: several('an expected wheel is missing'),
  },
  {
    name: 'store: a wheel that fails is forgotten',
    file: 'src/actions/store.ts',
    find: 'if (failed.length > 0) throw explainFailed(result);',
    replace: 'if (failed.length === ready.length) throw explainFailed(result);',
    tests: several('leaves the others stored'),
  },
  {
    name: 'upload: each upload has its own buffers',
    file: 'src/bucket/send-buffers.ts',
    find: 'this.#free -= next.count;',
    replace: '',
    tests: ['bucket/send-buffers', '-t', 'at most so many'],
  },
  {
    name: 'store: a find that said to build is forgotten',
    file: 'src/actions/reuse.ts',
    find: "verdicts[target] === 'build');",
    replace: "verdicts[target] === 'build' && inputs.path === '');",
    tests: ['contract/skipped-build'],
  },
  {
    name: 'layout: a longer commit matches',
    file: 'src/slots/layout.ts',
    find: '`${prefix}/${commit}/`',
    replace: '`${prefix}/${commit}`',
    tests: ['__tests__/slots/layout.test'],
  },
  {
    name: 'fetch: a download is not verified',
    file: 'src/slots/download.ts',
    find: '    await verify(temporary, file, wheel, sha256);\n',
    replace: '    if (wheel.size < 0) await verify(temporary, file, wheel, sha256);\n',
    tests: fetch('other bytes: an error'),
  },
  {
    name: 'fetch: temporary files of a failed fetch are left',
    file: 'src/slots/download.ts',
    find: '=> rm(temporary, { force: true })',
    replace: '=> temporary',
    tests: fetch('always cut'),
  },
  {
    name: 'fetch: an existing file is not compared',
    file: 'src/slots/download.ts',
    find: 'return (await hashFile(file)).sha256 === sha256;',
    replace: 'return (await hashFile(file)).sha256.length === sha256.length;',
    tests: decisions('a file of the same name and size'),
  },
  {
    name: 'fetch: free space is not checked',
    file: 'src/disk/disk.ts',
    find: 'free === undefined || free >= bytes',
    replace: 'free === undefined || free >= 0',
    tests: fetch('has less free'),
  },
  {
    name: 'path: an excluded folder excludes the files beside it',
    file: 'src/disk/glob.ts',
    find: ' && !glob.onlyFolders;',
    replace: ';',
    tests: ['disk/glob', '-t', 'exclusion covers'],
  },
  {
    name: 'path: wheels that a pattern leaves out are not named',
    file: 'src/disk/find-wheels.ts',
    find: '[...wheels.map((wheel) => basename(wheel)), ...others]',
    replace: '[...others]',
    tests: ['contract/paths', '-t', 'would have matched'],
  },
  {
    name: 'download: a range may come from another object',
    file: 'src/bucket/download.ts',
    find: "expected !== actual) return 'another object';",
    replace: "expected === '') return 'another object';",
    tests: fetch('case 74'),
  },
  {
    name: 'outputs: the session token is not masked',
    file: 'src/runner/outputs.ts',
    find: "['X-Amz-Signature', 'X-Amz-Security-Token']",
    replace: "['X-Amz-Signature']",
    tests: decisions('of a presigned URL'),
  },
  {
    name: 'outputs: the signature is not masked',
    file: 'src/runner/outputs.ts',
    find: "['X-Amz-Signature', 'X-Amz-Security-Token']",
    replace: "['X-Amz-Security-Token']",
    tests: decisions('of a presigned URL'),
  },
  {
    name: 'outputs: only the decoded token is masked',
    file: 'src/runner/outputs.ts',
    find: '    core.setSecret(encodeURIComponent(value));\n',
    replace: '',
    tests: decisions('of a presigned URL'),
  },
  {
    name: 'cache: its process gets the AWS_ variables',
    file: 'src/runner/inputs.ts',
    find: '/^(INPUT|AWS)_/i',
    replace: '/^INPUT_/i',
    tests: decisions('talks to the Actions cache'),
  },
  {
    name: 'find: on-error means build when it is empty',
    file: 'src/runner/inputs.ts',
    find: "readChoice('on-error', ['fail', 'build'])",
    replace: "readChoice('on-error', ['build', 'fail'])",
    tests: declared('find: on-error;'),
  },
  {
    name: 'fetch: on-missing means ignore when it is empty',
    file: 'src/runner/inputs.ts',
    find: "onMissing: readChoice('on-missing', ['fail', 'ignore']),\n    cache:",
    replace: "onMissing: readChoice('on-missing', ['ignore', 'fail']),\n    cache:",
    tests: declared('fetch: on-missing;'),
  },
  {
    name: 'find: on-error: build hides bad input',
    file: 'src/actions/find.ts',
    find: '  const inputs = readFindInputs();\n',
    replace:
      "  const inputs = (() => { try { return readFindInputs(); } catch (error) { if (process.env['INPUT_ON-ERROR'] === 'build') process.exit(0); throw error; } })();\n",
    tests: find('does not apply to bad input'),
  },
  {
    name: 'run: a failure leaves skip-build unset',
    file: 'src/runner/outputs.ts',
    find: "  core.setOutput('skip-build', 'false');\n",
    replace: '',
    tests: find('403: an error that names'),
  },
  {
    name: 'url: a + stays a +',
    file: 'src/bucket/url.ts',
    find: '  return encodeURIComponent(segment).replace(',
    replace: "  return encodeURIComponent(segment).replaceAll('%2B', '+').replace(",
    tests: ['__tests__/bucket/url.test'],
  },
  {
    name: 'wheel: no warning about unchecked files',
    file: 'src/wheel/read-wheel.ts',
    find: '    ...warnUnchecked(data, name),\n',
    replace: '',
    tests: ['contract/wheel-checks', '-t', 'which is not checked'],
  },
];
