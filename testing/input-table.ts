/**
 * For each declared input: its default, another value, and the observable effect of both on the built action. The
 * effects must differ. contract/declared-inputs runs all rows.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ActionName } from '../scripts/actions.ts';
import type { TestBucket } from './bucket.ts';
import { type FaultProxy, s3Error, startFaultProxy } from './fault-proxy.ts';
import { tool } from './python.ts';
import { runStep, type StepResult } from './runner.ts';
import { sdistBytes } from './sdists.ts';
import { makeWheel, sha256, wheelBytes } from './wheels.ts';

/** The commits and folders for one observation. */
export interface Site {
  readonly bucket: TestBucket;
  readonly action: ActionName;
  /** Of the observed step; initially empty. */
  readonly workspace: string;
  /** Of the steps that store wheels beforehand. */
  readonly builder: string;
  /** `github.sha` of the step. */
  readonly commit: string;
  readonly otherCommit: string;
}

export type Given = Readonly<Record<string, string>>;
type Env = Readonly<Record<string, string | undefined>>;

/** One input of one action. */
export interface Row {
  /** The default in action.yml; empty if there is none. */
  readonly default: string;
  /** Another valid value. */
  readonly other: string | ((site: Site) => string);
  /** Runs the action with `given` and describes the effect in a word or two. */
  readonly observe: (site: Site, given: Given) => Promise<string>;
  /** The expected effects; `empty` if an empty input does not mean the default. */
  readonly shows: { readonly default: string; readonly other: string; readonly empty?: string };
}

export const WHEEL = 'demo-1.0-py3-none-any.whl';
const OLD_PYTHONS = 'demo-1.0-cp27-none-any.whl';

/** A site for one observation. */
export function makeSite(bucket: TestBucket, action: ActionName, folder: string): Site {
  return {
    bucket,
    action,
    workspace: join(folder, 'workspace'),
    builder: join(folder, 'builder'),
    commit: randomBytes(20).toString('hex'),
    otherCommit: randomBytes(20).toString('hex'),
  };
}

/** Runs the action with the bucket, the endpoint and `given` as the only inputs. */
export function act(site: Site, given: Given, env: Env = {}): Promise<StepResult> {
  const required: Given = site.action === 'publish' ? { channel: `of-${site.commit.slice(0, 8)}` } : {};
  const inputs = { ...site.bucket.inputs, ...required, ...given };
  const variables = { ...site.bucket.env, GITHUB_SHA: site.commit, ...env };
  return runStep({ action: site.action, workspace: site.workspace, inputs, env: variables });
}

/** Creates a wheel; for find and fetch, also stores it. */
export async function provide(site: Site, given: Given = {}, env: Env = {}, name = WHEEL): Promise<void> {
  const isStore = site.action === 'store';
  const path = await makeWheel(
    isStore ? site.workspace : site.builder,
    join('dist', given.target ?? '', name),
  );
  if (isStore) return;
  const inputs = { ...site.bucket.inputs, path, ...given };
  const variables = { ...site.bucket.env, GITHUB_SHA: site.commit, ...env };
  const step = { action: 'store', workspace: site.builder, inputs, env: variables } as const;
  const { errors } = await runStep(step);
  if (errors.length > 0) throw new Error(`The wheel for the look-up was not stored: ${errors.join(' ')}`);
}

function keyOf({ code, outputs }: StepResult): string {
  return code === 0 ? (outputs['wheel-key'] ?? '') : 'refused';
}

/** Runs a step with a proxy in front of the bucket, and returns the requests. */
async function requestsOf(
  site: Site,
  run: (proxy: FaultProxy) => Promise<unknown>,
  rule?: Parameters<typeof startFaultProxy>[1],
): Promise<FaultProxy['requests']> {
  await using proxy = await startFaultProxy(site.bucket.endpoint, rule);
  await run(proxy);
  return [...proxy.requests];
}

const bucketName: Row = {
  default: '',
  other: ({ bucket }) => bucket.name,
  async observe(site, { bucket = '' }) {
    await provide(site);
    const { errors, outputs } = await act(site, { bucket });
    if (errors[0]?.includes("'bucket' is required")) return 'required';
    return outputs['s3-uri']?.startsWith(`s3://${site.bucket.name}/`) ? 'used' : 'not used';
  },
  shows: { default: 'required', other: 'used' },
};

const prefix: Row = {
  default: 'builds',
  other: 'elsewhere',
  async observe(site, given) {
    for (const stored of ['builds', 'elsewhere', '']) await provide(site, { prefix: stored });
    return keyOf(await act(site, given)).split(site.commit)[0]!;
  },
  shows: { default: 'builds/', other: 'elsewhere/', empty: '' },
};

const commit: Row = {
  default: '${{ github.sha }}',
  other: ({ otherCommit }) => otherCommit,
  async observe(site, given) {
    for (const stored of [site.commit, site.otherCommit]) await provide(site, { commit: stored });
    const key = keyOf(await act(site, given));
    if (key.includes(site.otherCommit)) return 'the other commit';
    return key.includes(site.commit) ? 'github.sha' : key;
  },
  shows: { default: 'github.sha', other: 'the other commit', empty: 'refused' },
};

const commitLabel: Row = {
  default: '',
  other: 'a v1 + b 2c3d',
  async observe(site, given) {
    await provide(site);
    const { outputs, summary } = await act(site, given);
    if (!outputs['wheel-key']?.includes(site.commit)) return 'another key';
    return /^\| Built&nbsp;from \| <code>(.*)<\/code> \|$/m.exec(summary)?.[1] ?? 'no label';
  },
  shows: { default: 'no label', other: 'a v1 + b 2c3d' },
};

const target: Row = {
  default: '',
  other: 'linux',
  async observe(site, given) {
    await provide(site);
    if (site.action !== 'store') await provide(site, { target: 'linux' });
    return keyOf(await act(site, given))
      .split('/')
      .slice(3, -1)
      .join('/');
  },
  shows: { default: '', other: 'linux' },
};

const region: Row = {
  default: '',
  other: 'eu-west-3',
  async observe(site, given) {
    await provide(site);
    const requests = await requestsOf(site, ({ endpoint }) =>
      act(site, { ...given, 'endpoint-url': endpoint }),
    );
    return /\/(\w+-\w+-\d)\/s3\//.exec(requests[0]?.headers.authorization ?? '')?.[1] ?? 'none';
  },
  shows: { default: 'us-east-1', other: 'eu-west-3' },
};

const endpointUrl: Row = {
  default: '',
  other: ({ bucket }) => bucket.endpoint,
  async observe(site, { 'endpoint-url': given = '' }) {
    await provide(site);
    const run = ({ endpoint }: FaultProxy) =>
      act(site, { 'endpoint-url': given }, { AWS_ENDPOINT_URL_S3: endpoint });
    return (await requestsOf(site, run)).length > 0 ? 'what the SDK resolves' : 'the input';
  },
  shows: { default: 'what the SDK resolves', other: 'the input' },
};

const forcePathStyle: Row = {
  default: 'auto',
  other: 'false',
  async observe(site, given) {
    await provide(site);
    // That host does not exist, but the proxy records the requests for it.
    const run = ({ endpoint }: FaultProxy) =>
      act(site, { ...given, 'endpoint-url': 'http://s3.example.com' }, { HTTP_PROXY: endpoint });
    const [first] = await requestsOf(site, run, () => s3Error(403, 'AccessDenied'));
    return first?.headers.host === 's3.example.com'
      ? 'in the path'
      : `${first?.headers.host?.split('.', 2)[1]}`;
  },
  shows: { default: 'in the path', other: 's3' },
};

const publicUrl: Row = {
  default: '',
  other: 'https://cdn.example.com',
  async observe(site, given) {
    await provide(site);
    const url = (await act(site, given)).outputs['wheel-url'] ?? '';
    return url.startsWith(`${site.bucket.endpoint}/`) ? 'the bucket' : new URL(url).origin;
  },
  shows: { default: 'the bucket', other: 'https://cdn.example.com' },
};

const presign: Row = {
  default: '',
  other: '900',
  async observe(site, given) {
    await provide(site);
    const url = new URL((await act(site, given)).outputs['wheel-url'] ?? '');
    return url.searchParams.get('X-Amz-Expires') ?? 'plain';
  },
  shows: { default: 'plain', other: '900' },
};

const noSignRequest: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site);
    const requests = await requestsOf(site, ({ endpoint }) =>
      act(site, { ...given, 'endpoint-url': endpoint }),
    );
    return requests[0]?.headers.authorization === undefined ? 'unsigned' : 'signed';
  },
  shows: { default: 'signed', other: 'unsigned' },
};

/** An input that sets a request header. */
function sentHeader(header: string, other: string, besides: Given = {}): Row {
  return {
    default: '',
    other,
    async observe(site, given) {
      await provide(site);
      const run = ({ endpoint }: FaultProxy) => act(site, { ...besides, ...given, 'endpoint-url': endpoint });
      const sent = (await requestsOf(site, run)).map(({ headers }) => headers[header]);
      return `${sent.find((value) => value !== undefined) ?? 'none'}`;
    },
    shows: { default: 'none', other },
  };
}

const common: Readonly<Record<string, Row>> = {
  bucket: bucketName,
  prefix,
  commit,
  'commit-label': commitLabel,
  target,
  region,
  'endpoint-url': endpointUrl,
  'force-path-style': forcePathStyle,
  'public-url': publicUrl,
  presign,
  'no-sign-request': noSignRequest,
  'request-payer': sentHeader('x-amz-request-payer', 'requester'),
};

const scope: Row = {
  default: 'commit',
  other: 'run',
  async observe(site, given) {
    await provide(site, {}, { GITHUB_RUN_ID: '9' });
    return (await act(site, given)).outputs['skip-build']!;
  },
  shows: { default: 'true', other: 'false' },
};

const forPython: Row = {
  default: '',
  other: () => tool('python'),
  async observe(site, given) {
    await provide(site, { target: 'old' }, {}, OLD_PYTHONS);
    await provide(site, { target: 'new' });
    return (await act(site, { ...given, target: '*' })).outputs['wheel-name']!;
  },
  shows: { default: '', other: WHEEL },
};

const expectInput: Row = {
  default: '',
  other: 'old,new',
  async observe(site, given) {
    await provide(site, { target: 'old' });
    return (await act(site, { ...given, target: '*' })).outputs['skip-build']!;
  },
  shows: { default: 'true', other: 'false' },
};

const project: Row = {
  default: '',
  other: 'demo',
  async observe(site, given) {
    await provide(site, { target: 'old' }, {}, 'other-1.0-py3-none-any.whl');
    await provide(site, { target: 'new' });
    const { outputs } = await act(site, { ...given, target: '*' });
    return String(JSON.parse(outputs.wheels!).map(({ name }: { name: string }) => name.split('-')[0]));
  },
  shows: { default: 'demo,other', other: 'demo' },
};

const version: Row = {
  default: '',
  other: 'v1.0',
  observe: storedByTwoRuns,
  shows: { default: '6', other: '5' },
};

const wait: Row = {
  default: '0',
  other: '1',
  async observe(site, given) {
    return /for up to \d seconds/.exec((await act(site, given)).log)?.[0] ?? 'not at all';
  },
  shows: { default: 'not at all', other: 'for up to 1 seconds' },
};

/** Stores different wheels in two runs, and returns the run whose wheel is found. */
async function storedByTwoRuns(site: Site, given: Given): Promise<string> {
  await provide(site, {}, { GITHUB_RUN_ID: '5' });
  await provide(site, {}, { GITHUB_RUN_ID: '6' }, 'demo-2.0-py3-none-any.whl');
  return (await act(site, given)).outputs['run-id']!;
}

const runId: Row = {
  default: '',
  other: '5',
  observe: storedByTwoRuns,
  shows: { default: '6', other: '5' },
};

const sha256Input: Row = {
  default: '',
  other: () => sha256(wheelBytes(WHEEL)),
  observe: storedByTwoRuns,
  shows: { default: '6', other: '5' },
};

const requireSha256: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await site.bucket.put(`builds/${site.commit}/${WHEEL}`, Buffer.from(wheelBytes(WHEEL)));
    return (await act(site, given)).outputs['skip-build']!;
  },
  shows: { default: 'true', other: 'false' },
};

const repository: Row = {
  default: '',
  other: '*',
  async observe(site, given) {
    await provide(site, {}, { GITHUB_REPOSITORY: 'octo/other' });
    return (await act(site, given)).outputs['skip-build']!;
  },
  shows: { default: 'false', other: 'true' },
};

const lookUp: Readonly<Record<string, Row>> = {
  ...common,
  scope,
  'run-id': runId,
  sha256: sha256Input,
  'require-sha256': requireSha256,
  repository,
  'for-python': forPython,
  expect: expectInput,
  project,
  version,
  wait,
};

const storePath: Row = {
  default: 'dist',
  other: 'wheelhouse',
  async observe(site, given) {
    await makeWheel(site.workspace, 'dist/demo-1.0-py3-none-any.whl');
    await makeWheel(site.workspace, 'wheelhouse/demo-2.0-py3-none-any.whl');
    return (await act(site, given)).outputs['wheel-name']!;
  },
  shows: { default: 'demo-1.0-py3-none-any.whl', other: 'demo-2.0-py3-none-any.whl' },
};

const expectedTargets: Row = {
  default: '',
  other: 'cp312-win_amd64',
  async observe(site, given) {
    await provide(site);
    return (await act(site, { ...given, target: '*' })).code === 0 ? 'stored' : 'refused';
  },
  shows: { default: 'stored', other: 'refused' },
};

const sdist: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site);
    await writeFile(join(site.workspace, 'dist/demo-1.0.tar.gz'), sdistBytes('demo-1.0.tar.gz'));
    await act(site, given);
    const keys = await site.bucket.keys(`builds/${site.commit}/`);
    return keys.some((key) => key.endsWith('/sdist/demo-1.0.tar.gz')) ? 'stored' : 'not stored';
  },
  shows: { default: 'not stored', other: 'stored' },
};

const index: Row = {
  default: 'true',
  other: 'false',
  async observe(site, given) {
    await provide(site);
    await act(site, given);
    const keys = await site.bucket.keys(`builds/${site.commit}/`);
    return keys.some((key) => key.endsWith('/index.html')) ? 'a page' : 'no page';
  },
  shows: { default: 'a page', other: 'no page' },
};

const allowStaleWheel: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site, {}, {}, 'demo-1.0+g1234567-py3-none-any.whl');
    return (await act(site, given)).code === 0 ? 'stored' : 'refused';
  },
  shows: { default: 'refused', other: 'stored' },
};

const objectSettings: Readonly<Record<string, Row>> = {
  'server-side-encryption': sentHeader('x-amz-server-side-encryption', 'AES256'),
  'kms-key-id': sentHeader('x-amz-server-side-encryption-aws-kms-key-id', 'alias/wheels', {
    'server-side-encryption': 'aws:kms',
  }),
  acl: sentHeader('x-amz-acl', 'private'),
  'storage-class': sentHeader('x-amz-storage-class', 'STANDARD_IA'),
  tags: sentHeader('x-amz-tagging', 'team=ci'),
};

/** Replaces GitHub with a server that refuses all requests, and returns those requests. */
async function requestsToGitHub(
  site: Site,
  given: Given,
): Promise<{ log: string; requests: FaultProxy['requests'] }> {
  await provide(site);
  await using api = await startFaultProxy(site.bucket.endpoint, () => ({ status: 401, body: '{}' }));
  const { log } = await act(site, given, { GITHUB_API_URL: api.endpoint });
  return { log, requests: [...api.requests] };
}

const comment: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    const { requests } = await requestsToGitHub(site, { ...given, 'pull-request': '12' });
    return requests.length > 0 ? 'tried' : 'not tried';
  },
  shows: { default: 'not tried', other: 'tried' },
};

const pullRequest: Row = {
  default: '',
  other: '12',
  async observe(site, given) {
    const { requests } = await requestsToGitHub(site, { ...given, comment: 'true' });
    return requests.some(({ path }) => /\/12(\/|$)/.test(path)) ? 'the one of the input' : 'none';
  },
  shows: { default: 'none', other: 'the one of the input' },
};

const token: Row = {
  default: '${{ github.token }}',
  other: 'ghs_anotherToken',
  async observe(site, given) {
    const { requests } = await requestsToGitHub(site, { ...given, comment: 'true', 'pull-request': '12' });
    return requests[0]?.headers.authorization?.split(' ')[1] ?? 'no request';
  },
  shows: { default: 'ghs_tokenOfThisJob', other: 'ghs_anotherToken', empty: 'no request' },
};

const rebuild: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site);
    return (await act(site, given)).outputs['skip-build']!;
  },
  shows: { default: 'true', other: 'false' },
};

const onError: Row = {
  default: 'fail',
  other: 'build',
  async observe(site, given) {
    let code: number | null = null;
    const run = async ({ endpoint }: FaultProxy) => {
      ({ code } = await act(site, { ...given, 'endpoint-url': endpoint }));
    };
    await requestsOf(site, run, () => s3Error(403, 'AccessDenied'));
    return code === 0 ? 'continues' : 'fails';
  },
  shows: { default: 'fails', other: 'continues' },
};

const fetchPath: Row = {
  default: 'dist',
  other: 'wheelhouse',
  async observe(site, given) {
    await provide(site);
    const path = (await act(site, given)).outputs['wheel-path'] ?? '';
    return path === '' ? 'nowhere' : path.slice(site.workspace.length + 1).split(/[\\/]/)[0]!;
  },
  shows: { default: 'dist', other: 'wheelhouse' },
};

const onMissing: Row = {
  default: 'fail',
  other: 'ignore',
  observe: async (site, given) => ((await act(site, given)).code === 0 ? 'continues' : 'fails'),
  shows: { default: 'fails', other: 'continues' },
};

const cache: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site);
    return /Actions cache/i.test((await act(site, given)).log) ? 'used' : 'not used';
  },
  shows: { default: 'not used', other: 'used' },
};

/** The wheels that a step has published. */
async function published(site: Site, given: Given): Promise<{ readonly key: string }[]> {
  return JSON.parse((await act(site, given)).outputs.published ?? '[]');
}

const publishTarget: Row = {
  default: '*',
  other: 'linux',
  async observe(site, given) {
    await provide(site, { target: 'linux' });
    await provide(site, { target: 'old' }, {}, OLD_PYTHONS);
    return `${(await published(site, given)).length} wheels`;
  },
  shows: { default: '2 wheels', other: '1 wheels', empty: '0 wheels' },
};

const channel: Row = {
  default: '',
  other: 'pr-1',
  async observe(site, { channel: given = '' }) {
    await provide(site);
    const { errors, outputs } = await act(site, { channel: given });
    if (errors[0]?.includes("'channel' is required")) return 'required';
    return outputs['channel-url']!.split('/').at(-2)!;
  },
  shows: { default: 'required', other: 'pr-1' },
};

const channels: Row = {
  default: 'channels',
  other: 'elsewhere',
  async observe(site, given) {
    await provide(site);
    return (await published(site, given))[0]!.key.split('/')[0]!;
  },
  shows: { default: 'channels', other: 'elsewhere' },
};

const channelBucket: Row = {
  default: '',
  other: 'another-bucket',
  async observe(site, given) {
    await provide(site);
    const run = ({ endpoint }: FaultProxy) => act(site, { ...given, 'endpoint-url': endpoint });
    const paths = (await requestsOf(site, run)).map(({ path }) => path.split(/[/?]/)[1]);
    return paths.every((bucket) => bucket === site.bucket.name) ? 'the same' : 'another one';
  },
  shows: { default: 'the same', other: 'another one' },
};

const keep: Row = {
  default: '',
  other: '1',
  async observe(site, given) {
    await provide(site);
    await provide(site, { commit: site.otherCommit }, {}, 'demo-2.0-py3-none-any.whl');
    await act(site, {});
    const { outputs } = await act(site, { ...given, commit: site.otherCommit });
    return `${JSON.parse(outputs.removed!).length} removed`;
  },
  shows: { default: '0 removed', other: '1 removed' },
};

/** All inputs of all actions. A declared input that is missing here fails contract/declared-inputs. */
export const INPUTS: Readonly<Record<ActionName, Readonly<Record<string, Row>>>> = {
  store: {
    ...common,
    ...objectSettings,
    path: storePath,
    expect: expectedTargets,
    sdist,
    'allow-stale-wheel': allowStaleWheel,
    index,
    comment,
    'pull-request': pullRequest,
    token,
  },
  find: { ...lookUp, rebuild, 'on-error': onError },
  fetch: { ...lookUp, path: fetchPath, 'on-missing': onMissing, cache },
  publish: {
    ...lookUp,
    ...objectSettings,
    target: publishTarget,
    channel,
    channels,
    'channel-bucket': channelBucket,
    keep,
    'on-missing': onMissing,
  },
};
