import { describe, expect, test } from '@jest/globals';
import { setOf } from '../../src/channel/facts.ts';
import { type Choice, type PublishedFile, select } from '../../src/channel/selection.ts';
import { channelKey } from '../../src/slots/layout.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const PLACE = { channels: 'channels', channel: 'nightly' };

/** A file `demo-{version}-py3-none-{platform}.whl` that run `run` built, in a set of its own. */
function file(
  version: string,
  run: string,
  more: Partial<PublishedFile> & { platform?: string } = {},
): PublishedFile {
  const { platform = 'any', ...rest } = more;
  const commit = run.padStart(40, '0');
  const name = parseWheelFilename(`demo-${version}-py3-none-${platform}.whl`);
  const key = channelKey(PLACE, commit, name);
  const sha256 = 'a'.repeat(64);
  return {
    ...{ key, commit, name, size: 1, etag: '', lastModified: undefined, hasMetadata: true },
    ...{
      sha256,
      metadataSha256: undefined,
      requiresPython: undefined,
      run,
      attempt: '1',
      repository: undefined,
    },
    set: setOf([{ key, sha256 }]),
    ...rest,
  };
}

function choose(files: readonly PublishedFile[], choice: Partial<Choice> = {}) {
  const { shown, hidden, incomplete } = select(files, {
    own: new Set(),
    known: new Set(),
    keep: undefined,
    ...choice,
  });
  const label = ({ name, run }: PublishedFile) => `${name.version.text}@${run}`;
  return { shown: shown.map(label), hidden: hidden.map(label), incomplete: incomplete.map(label) };
}

describe('a page shows', () => {
  test('the newest version first, as PEP 440 orders them', () => {
    const files = ['1.9', '1.10', '1.10.dev1', '1.10rc1', '2!0.1', '1.10+cu121'].map((version) =>
      file(version, '5'),
    );
    expect(choose(files).shown.map((label) => label.split('@')[0])).toEqual([
      ...['2!0.1', '1.10+cu121', '1.10', '1.10rc1', '1.10.dev1', '1.9'],
    ]);
  });

  test.each([
    ['9', '10'],
    ['10', '9'],
  ])('of one filename, the one with the highest run, as a number (%s, %s)', (first, second) => {
    expect(choose([file('1.0', first), file('1.0', second)])).toEqual({
      ...{ shown: ['1.0@10'], hidden: ['1.0@9'], incomplete: [] },
    });
  });

  test.each<[keep: number | undefined, own: string[], shown: string[]]>([
    [undefined, [], ['1.2', '1.1', '1.0']],
    [1, [], ['1.2']],
    [2, [], ['1.2', '1.1']],
    [1, ['1.0'], ['1.2', '1.0']],
    [9, [], ['1.2', '1.1', '1.0']],
  ])('with keep %s and %j published by this step: %j', (keep, own, shown) => {
    const files = ['1.0', '1.1', '1.2'].map((version) => file(version, '5'));
    const keys = files.filter(({ name }) => own.includes(name.version.text)).map(({ key }) => key);
    expect(choose(files, { keep, own: new Set(keys) }).shown).toEqual(shown.map((version) => `${version}@5`));
  });

  test('all platforms of a version count as one', () => {
    const files = ['1.0', '1.1'].flatMap((version) =>
      ['linux_x86_64', 'win_amd64'].map((platform) => file(version, '5', { platform })),
    );
    expect(choose(files, { keep: 1 }).shown).toEqual(['1.1@5', '1.1@5']);
  });
});

describe('a set that is not complete', () => {
  const set = `2-${'0'.repeat(32)}`;
  const half = file('1.0', '5', { set });
  const rest = file('1.0', '5', { set, platform: 'win_amd64' });

  test.each<[title: string, files: PublishedFile[], choice: Partial<Choice>, shown: number]>([
    ['is not shown', [half], {}, 0],
    ['is shown once it is complete', [half, rest], {}, 2],
    ['is shown by the step that publishes it', [half], { own: new Set([half.key]) }, 1],
    ['is shown if it was complete earlier', [half], { known: new Set([half.key]) }, 1],
  ])('%s', (_title, files, choice, shown) => {
    const chosen = choose(files, choice);
    expect(chosen.shown).toHaveLength(shown);
    expect(chosen.incomplete).toHaveLength(files.length - shown);
  });
});
