/**
 * For each input that an action.yml declares: its default, another value, and what is to be seen of either when the
 * built action runs. An observation must tell the two apart; contract/declared-inputs runs them all.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ActionName } from '../scripts/actions.ts';
import type { TestBucket } from './bucket.ts';
import { type FaultProxy, s3Error, startFaultProxy } from './fault-proxy.ts';
import { tool } from './python.ts';
import { runStep, type StepResult } from './runner.ts';
import { makeWheel, sha256, wheelBytes } from './wheels.ts';

/** Where a row is observed: commits and folders of its own. */
export interface Site {
  readonly bucket: TestBucket;
  readonly action: ActionName;
  /** Of the step; empty at first. */
  readonly workspace: string;
  /** Of the steps that stored something before. */
  readonly builder: string;
  /** `github.sha` of the step. */
  readonly commit: string;
  readonly otherCommit: string;
}

export type Given = Readonly<Record<string, string>>;
type Env = Readonly<Record<string, string | undefined>>;

/** One input of one action. */
export interface Row {
  /** As action.yml has it; empty where it has none. */
  readonly default: string;
  /** Another value that the action takes. */
  readonly other: string | ((site: Site) => string);
  /** Runs the action with `given` and says, in a word or two, what is to be seen. */
  readonly observe: (site: Site, given: Given) => Promise<string>;
  /** What that is; `empty` where an empty input does not mean the default. */
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

/** Runs the action with nothing but the bucket, the endpoint and what is given. */
export function act(site: Site, given: Given, env: Env = {}): Promise<StepResult> {
  const inputs = { ...site.bucket.inputs, ...given };
  const variables = { ...site.bucket.env, GITHUB_SHA: site.commit, ...env };
  return runStep({ action: site.action, workspace: site.workspace, inputs, env: variables });
}

/** Leaves a wheel for the store, or, for an action that reads, has it stored before. */
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
  if (errors.length > 0) throw new Error(`What a look-up needs was not stored: ${errors.join(' ')}`);
}

function keyOf({ code, outputs }: StepResult): string {
  return code === 0 ? (outputs['wheel-key'] ?? '') : 'refused';
}

/** A server in front of the bucket, or in its stead, and what it saw. */
async function seenBy(
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
    if (errors[0]?.includes("'bucket' is required")) return 'asked for';
    return outputs['s3-uri']?.startsWith(`s3://${site.bucket.name}/`) ? 'used' : 'not used';
  },
  shows: { default: 'asked for', other: 'used' },
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
    const requests = await seenBy(site, ({ endpoint }) => act(site, { ...given, 'endpoint-url': endpoint }));
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
    return (await seenBy(site, run)).length > 0 ? 'what the SDK resolves' : 'the input';
  },
  shows: { default: 'what the SDK resolves', other: 'the input' },
};

const forcePathStyle: Row = {
  default: 'auto',
  other: 'false',
  async observe(site, given) {
    await provide(site);
    // No such host is there to be asked: the proxy sees whom the action would speak to.
    const run = ({ endpoint }: FaultProxy) =>
      act(site, { ...given, 'endpoint-url': 'http://s3.example.com' }, { HTTP_PROXY: endpoint });
    const [first] = await seenBy(site, run, () => s3Error(403, 'AccessDenied'));
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
    const requests = await seenBy(site, ({ endpoint }) => act(site, { ...given, 'endpoint-url': endpoint }));
    return requests[0]?.headers.authorization === undefined ? 'unsigned' : 'signed';
  },
  shows: { default: 'signed', other: 'unsigned' },
};

/** A header that the action sends, with the request that puts the wheel or with another. */
function sentHeader(header: string, other: string, besides: Given = {}): Row {
  return {
    default: '',
    other,
    async observe(site, given) {
      await provide(site);
      const run = ({ endpoint }: FaultProxy) => act(site, { ...besides, ...given, 'endpoint-url': endpoint });
      const sent = (await seenBy(site, run)).map(({ headers }) => headers[header]);
      return `${sent.find((value) => value !== undefined) ?? 'none'}`;
    },
    shows: { default: 'none', other },
  };
}

const common: Readonly<Record<string, Row>> = {
  bucket: bucketName,
  prefix,
  commit,
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

const wait: Row = {
  default: '0',
  other: '1',
  async observe(site, given) {
    return /for up to \d seconds/.exec((await act(site, given)).log)?.[0] ?? 'not at all';
  },
  shows: { default: 'not at all', other: 'for up to 1 seconds' },
};

/** Two runs stored other wheels; which of them answers. */
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

/** What a server in GitHub's stead is asked; it refuses all. */
async function askedOfGitHub(
  site: Site,
  given: Given,
): Promise<{ log: string; asked: FaultProxy['requests'] }> {
  await provide(site);
  await using api = await startFaultProxy(site.bucket.endpoint, () => ({ status: 401, body: '{}' }));
  const { log } = await act(site, given, { GITHUB_API_URL: api.endpoint });
  return { log, asked: [...api.requests] };
}

const comment: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    const { asked } = await askedOfGitHub(site, { ...given, 'pull-request': '12' });
    return asked.length > 0 ? 'tried' : 'left alone';
  },
  shows: { default: 'left alone', other: 'tried' },
};

const pullRequest: Row = {
  default: '',
  other: '12',
  async observe(site, given) {
    const { asked } = await askedOfGitHub(site, { ...given, comment: 'true' });
    return asked.some(({ path }) => /\/12(\/|$)/.test(path)) ? 'the one of the input' : 'none';
  },
  shows: { default: 'none', other: 'the one of the input' },
};

const token: Row = {
  default: '${{ github.token }}',
  other: 'ghs_anotherToken',
  async observe(site, given) {
    const { asked } = await askedOfGitHub(site, { ...given, comment: 'true', 'pull-request': '12' });
    return asked[0]?.headers.authorization?.split(' ')[1] ?? 'no request';
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
    await seenBy(site, run, () => s3Error(403, 'AccessDenied'));
    return code === 0 ? 'goes on' : 'fails';
  },
  shows: { default: 'fails', other: 'goes on' },
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
  observe: async (site, given) => ((await act(site, given)).code === 0 ? 'goes on' : 'fails'),
  shows: { default: 'fails', other: 'goes on' },
};

const cache: Row = {
  default: 'false',
  other: 'true',
  async observe(site, given) {
    await provide(site);
    return /Actions cache/i.test((await act(site, given)).log) ? 'asked' : 'not asked';
  },
  shows: { default: 'not asked', other: 'asked' },
};

/** All inputs of all actions. One that an action.yml declares and that is not here fails contract/declared-inputs. */
export const INPUTS: Readonly<Record<ActionName, Readonly<Record<string, Row>>>> = {
  store: {
    ...common,
    ...objectSettings,
    path: storePath,
    'allow-stale-wheel': allowStaleWheel,
    index,
    comment,
    'pull-request': pullRequest,
    token,
  },
  find: { ...lookUp, rebuild, 'on-error': onError },
  fetch: { ...lookUp, path: fetchPath, 'on-missing': onMissing, cache },
};
