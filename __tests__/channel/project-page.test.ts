import { describe, expect, test } from '@jest/globals';
import { factsOf, metadataOf, setOf } from '../../src/channel/facts.ts';
import { channelCommands, uvSettings } from '../../src/channel/install.ts';
import { idOf, readProjectPage, renderProjectPage } from '../../src/channel/project-page.ts';
import type { PublishedFile } from '../../src/channel/selection.ts';
import { channelKey } from '../../src/slots/layout.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const COMMIT = 'c'.repeat(40);
const SHA256 = 'd'.repeat(64);

function published(filename: string, more: Partial<PublishedFile> = {}): PublishedFile {
  const name = parseWheelFilename(filename);
  const key = channelKey({ channels: 'channels', channel: 'nightly' }, COMMIT, name);
  return {
    ...{ key, commit: COMMIT, name, size: 2048, etag: '', hasMetadata: true },
    lastModified: new Date('2026-12-04T05:06:07Z'),
    ...{
      sha256: SHA256,
      metadataSha256: 'e'.repeat(64),
      requiresPython: '>=3.9,<"4"',
      run: '7',
      attempt: '2',
    },
    ...{ repository: 'octo/demo', set: setOf([{ key, sha256: SHA256 }]) },
    ...more,
  };
}

const render = (shown: readonly PublishedFile[], hidden: readonly PublishedFile[] = []) =>
  renderProjectPage({
    channel: 'nightly',
    channelUrl: 'https://example.com/channels/nightly/',
    project: 'demo',
    serverUrl: 'https://github.com',
    shown,
    hidden,
  });

describe('the page of a project', () => {
  test('has what installers read', () => {
    const html = render([published('demo-1.0+cu121-py3-none-any.whl')]);
    expect(html).toContain(
      `<a href="${COMMIT}/demo-1.0%2Bcu121-py3-none-any.whl#sha256=${SHA256}" data-requires-python="&#62;=3.9,&#60;&#34;4&#34;" data-core-metadata="sha256=${'e'.repeat(64)}"`,
    );
    expect(html).toContain('<meta name="pypi:repository-version" content="1.0">');
    expect(html).toContain(`https://github.com/octo/demo/commit/${COMMIT}`);
    expect(html).toContain('2026-12-04 05:06');
  });

  test('does not promise core metadata that is not there', () => {
    expect(render([published('demo-1.0-py3-none-any.whl', { hasMetadata: false })])).not.toContain(
      'core-metadata=',
    );
  });

  test('is read again as it was written', () => {
    const shown = [published('demo-1.0+cu121-py3-none-any.whl'), published('demo-0.9-py3-none-any.whl')];
    const hidden = [
      published('demo-0.1-py3-none-any.whl', { metadataSha256: undefined, repository: undefined }),
    ];
    const { facts, linked } = readProjectPage(render(shown, hidden));
    expect([...linked]).toEqual(shown.map(idOf));
    for (const file of [...shown, ...hidden]) {
      expect(facts.get(idOf(file))).toEqual(factsOf(metadataOf(file, file.commit, file.name)));
    }
    expect(facts.size).toBe(3);
  });

  test.each([
    ['', 'nothing'],
    ['<a href="x.whl">x</a>', 'no facts'],
    [
      `<a href="${COMMIT}/%E0%A4%A.whl" data-sha256="${SHA256}" data-run="1" data-attempt="1" data-set="1-${'0'.repeat(32)}">`,
      'a broken escape',
    ],
    [
      `<a href="a/b.whl" data-sha256="x" data-run="1" data-attempt="1" data-set="1-${'0'.repeat(32)}">`,
      'a wrong hash',
    ],
    [
      `<a href="a/b.whl" data-sha256="${SHA256}" data-run="01" data-attempt="1" data-set="1-0">`,
      'a wrong run',
    ],
  ])('of someone else has no facts: %j (%s)', (html) => {
    expect(readProjectPage(html).facts.size).toBe(0);
  });

  test('2,000 wheels fit on one page', () => {
    const files = Array.from({ length: 2_000 }, (_, index) =>
      published(`demo-1.${index}-cp312-cp312-manylinux_2_28_x86_64.whl`),
    );
    expect(Buffer.byteLength(render(files))).toBeLessThan(3 * 1024 * 1024);
  });
});

test('the commands pin the version, and are safe in a shell', () => {
  const name = parseWheelFilename('demo-1!1.0.dev1-py3-none-any.whl');
  const { pip, uv } = channelCommands('https://x.example/a$(id)/', [name]);
  expect(pip).toBe('pip install --extra-index-url "https://x.example/a%24%28id%29/" \'demo==1!1.0.dev1\'');
  expect(uv).toBe('uv pip install --index "https://x.example/a%24%28id%29/" \'demo==1!1.0.dev1\'');
  expect(uvSettings('nightly', 'https://x.example/n/', ['demo'])).toContain('demo = { index = "nightly" }');
});
