/** A job that publishes wheels to a channel, and what lies there. */
import type { TestBucket } from './bucket.ts';
import { COMMIT, type Job, startJob } from './job.ts';
import type { StepResult } from './runner.ts';
import { makeWheel, type WheelRecipe } from './wheels.ts';

/** A job with a channel of its own. */
export interface ChannelJob extends Job {
  readonly channels: string;
  /** Stores wheels, each under its own target: `t0`, `t1`, … */
  storeAll(names: readonly string[], options?: StoreOptions): Promise<void>;
  publish(
    inputs?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
  ): Promise<StepResult>;
  /** The keys in the channel, without pages and the channel's own prefix. */
  files(channel?: string): Promise<string[]>;
  /** The files that the page of a project links to, as `{commit}/{filename}`. */
  linked(project?: string, channel?: string): Promise<string[]>;
}

/** For which commit and run to store wheels. */
export interface StoreOptions {
  readonly commit?: string;
  readonly run?: string;
  readonly recipe?: WheelRecipe;
}

/** Starts a job. */
export async function startChannelJob(bucket: TestBucket): Promise<ChannelJob> {
  const job = await startJob(bucket);
  const channels = `c/${job.prefix.replace('/', '-')}`;
  const folder = (channel = 'nightly') => `${channels}/${channel}/`;
  return {
    ...job,
    channels,
    async storeAll(names, { commit = COMMIT, run = '7', recipe = {} } = {}) {
      for (const [index, name] of names.entries()) {
        const path = await makeWheel(job.workspace, `${commit}-${run}-${index}/${name}`, recipe);
        const inputs = { path, target: `t${index}`, commit, index: 'false' };
        const { errors } = await job.step('store', inputs, { GITHUB_RUN_ID: run });
        if (errors.length > 0) throw new Error(errors.join(' '));
      }
    },
    publish: (inputs = {}, env = {}) => job.step('publish', { channel: 'nightly', channels, ...inputs }, env),
    async files(channel) {
      const keys = await bucket.keys(folder(channel));
      return keys
        .filter((key) => !/(?:\/|\/index\.html)$/.test(key))
        .map((key) => key.slice(folder(channel).length));
    },
    async linked(project = 'demo', channel = 'nightly') {
      const keys = await bucket.keys(folder(channel));
      const page = `${folder(channel)}${project}/index.html`;
      if (!keys.includes(page)) return [];
      const html = (await bucket.get(page)).toString();
      return [...html.matchAll(/<a href="([0-9a-f]{40}\/[^"#]*)#sha256=[0-9a-f]{64}"/g)]
        .map(([, path]) => decodeURIComponent(path!))
        .sort();
    },
  };
}
