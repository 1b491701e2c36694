/** Comments of the action: their hidden first lines, and the wheels that they show. */
import type { CommentContent, Marker } from '../src/comment/text.ts';
import { COMMIT } from './job.ts';

/** The key in the first line. */
export const KEY = '0123456789abcdef';

/** The first line of run 7. */
export const marker = (changes: Partial<Marker> = {}): Marker => ({
  key: KEY,
  run: '7',
  attempt: '1',
  commit: COMMIT,
  by: 'ffff',
  ...changes,
});

/** One wheel per target. */
export const content = (...targets: readonly string[]): CommentContent => ({
  entries: targets.map((target) => ({
    target,
    filename: 'foo-1.0-py3-none-any.whl',
    url: `https://wheels.example.com/${target}/foo-1.0-py3-none-any.whl`,
    size: 1000,
  })),
  indexUrl: undefined,
  commitLabel: '',
  together: undefined,
});
