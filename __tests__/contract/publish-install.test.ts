import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startChannelJob } from '../../testing/channel.ts';
import { commandsIn, runCommand } from '../../testing/install-commands.ts';
import { COMMIT } from '../../testing/job.ts';
import { startLocalServer } from '../../testing/local-server.ts';
import { runProgram, tool } from '../../testing/python.ts';
import { startStaticServer } from '../../testing/static-server.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

const NONE = ['--index-url', 'http://127.0.0.1:9/none/'];

describe('pip and uv install from a channel', () => {
  test('with the commands of the summary, and the newest version', async () => {
    await using job = await startChannelJob(bucket);
    await using server = await startStaticServer(`${bucket.endpoint}/${bucket.name}`);
    await job.storeAll(['demo-1.0.dev1-py3-none-any.whl'], { commit: '1'.repeat(40) });
    await job.storeAll(['demo-1.0.dev2+cu121-py3-none-any.whl', 'demo-1.0.dev2+cu121-cp27-none-any.whl']);
    await job.publish({ commit: '1'.repeat(40), 'public-url': server.url });
    const { summary, outputs } = await job.publish({ 'public-url': server.url });
    expect(outputs['channel-url']).toBe(`${server.url}/${job.channels}/nightly/`);
    const commands = commandsIn(summary);
    expect(commands).toHaveLength(2);
    for (const [index, command] of commands.entries()) {
      const more = command.startsWith('uv') ? ['--default-index', NONE[1]!] : NONE;
      const folder = join(job.workspace, `installed-${index}`);
      // The channel is the only index that exists, so the wheel comes from there.
      const installed = await runCommand(
        command.replace('--extra-index-url', '--index-url'),
        folder,
        command.startsWith('uv') ? more : [],
      );
      expect(installed).toMatchObject({ code: 0 });
      expect(await readFile(join(folder, 'demo/__init__.py'), 'utf8')).toContain('1.0.dev2+cu121');
    }
    const page = (await bucket.get(`${job.channels}/nightly/demo/index.html`)).toString();
    expect(commandsIn(page)).toEqual(commands);
  });

  test('uv locks it with an explicit index', async () => {
    await using job = await startChannelJob(bucket);
    await using server = await startStaticServer(`${bucket.endpoint}/${bucket.name}`);
    await job.storeAll(['demo-1.0-py3-none-any.whl'], { recipe: { metadata: ['Requires-Python: >=3.9'] } });
    const { summary } = await job.publish({ 'public-url': server.url });
    const [, lines] = /```toml\n([^`]*)```/.exec(summary)!;
    const project =
      '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["demo"]\n\n';
    await writeFile(join(job.workspace, 'pyproject.toml'), project + lines);
    const locked = await runProgram(tool('uv'), [
      'lock',
      '--no-cache',
      '--python',
      tool('python'),
      '--project',
      job.workspace,
    ]);
    expect(locked).toMatchObject({ code: 0 });
    expect(await readFile(join(job.workspace, 'uv.lock'), 'utf8')).toContain(
      `${server.url}/${job.channels}/nightly/demo/`,
    );
  });

  test('they read the core metadata of many versions, and no wheel', async () => {
    await using job = await startChannelJob(bucket);
    const paths: string[] = [];
    await using server = await startLocalServer((incoming, response) => {
      const path = incoming.url ?? '/';
      paths.push(path);
      const key = path.replace(/^\/nightly\//, `/${job.channels}/nightly/`).replace(/\/$/, '/index.html');
      void fetch(`${bucket.endpoint}/${bucket.name}${key}`).then(async (upstream) => {
        response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? '' });
        response.end(Buffer.from(await upstream.arrayBuffer()));
      });
    });
    const versions = Array.from({ length: 40 }, (_, index) => `demo-1.${index}-py3-none-any.whl`);
    // Only the oldest can be installed together with what it needs.
    await job.storeAll(versions.slice(0, 1), { recipe: { metadata: ['Requires-Dist: base'] } });
    const newer = { commit: '1'.repeat(40), recipe: { metadata: ['Requires-Dist: base>9'] } };
    await job.storeAll(versions.slice(1), newer);
    const base = { commit: '2'.repeat(40) };
    await job.storeAll(['base-1.0-py3-none-any.whl'], base);
    for (const commit of [COMMIT, newer.commit, base.commit]) await job.publish({ commit });
    const index = `${server.url}/nightly/`;
    const pip = ['-m', 'pip', '--isolated', 'install', '--dry-run', '--no-cache-dir', '--ignore-installed'];
    const uv = ['pip', 'compile', '--no-config', '--no-cache', '--python', tool('python'), '-'];
    const runs = [
      () => runProgram(tool('python'), [...pip, '--index-url', index, 'demo']),
      () => runProgram(tool('uv'), [...uv, '--default-index', index], 'demo\n'),
    ];
    for (const run of runs) {
      paths.length = 0;
      expect(await run()).toMatchObject({ code: 0 });
      expect(paths.filter((path) => path.endsWith('.metadata')).length).toBeGreaterThanOrEqual(
        versions.length,
      );
      // pip's dry run downloads what it would install.
      const wheels = paths.filter((path) => path.endsWith('.whl'));
      expect(wheels.filter((path) => !/demo-1\.0-|base-/.test(path))).toEqual([]);
    }
  });
});
