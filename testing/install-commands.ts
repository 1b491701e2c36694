/** Runs the install commands that summaries, comments and index pages show, with the pip and uv of the tests. */
import { basename } from 'node:path';
import { type LocalServer, startLocalServer } from './local-server.ts';
import { type Ended, runProgram, tool } from './python.ts';
import { shownText } from './runner.ts';
import { type WheelRecipe, wheelBytes } from './wheels.ts';

/** The commands in a text, HTML entities decoded, in their order. */
export function commandsIn(text: string): string[] {
  return shownText(text.replace(/<[^>]*>/g, ''))
    .split('\n')
    .filter((line) => /^(uv )?pip install /.test(line));
}

/**
 * Runs a command that begins with `pip install` or `uv pip install`, and installs into a folder.
 *
 * @param more - further arguments, such as the index to use
 */
export function runCommand(command: string, folder: string, more: readonly string[]): Promise<Ended> {
  const [, args] = /^(?:uv )?pip install (.*)$/.exec(command)!;
  const wanted = [...args!.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => (a ?? b ?? c)!);
  const all = ['--target', folder, ...more, ...wanted];
  return command.startsWith('uv ')
    ? runProgram(tool('uv'), [
        ...['pip', 'install', '--no-config', '--no-cache', '--reinstall', '--python', tool('python')],
        ...all,
      ])
    : runProgram(tool('python'), [
        ...['-m', 'pip', '--isolated', 'install', '--no-cache-dir', '--upgrade'],
        ...all,
      ]);
}

/**
 * Starts a package index (simple repository API, PEP 503), as PyPI is one. Its address is `{url}/simple/`.
 *
 * @param wheels - by filename; the project is the filename's first part
 */
export function startIndex(wheels: Readonly<Record<string, WheelRecipe>>): Promise<LocalServer> {
  return startLocalServer((incoming, response) => {
    const path = incoming.url ?? '';
    const name = basename(path);
    const recipe = wheels[name];
    if (path.startsWith('/files/') && recipe !== undefined) {
      response.end(wheelBytes(name, recipe));
      return;
    }
    const links = Object.keys(wheels)
      .filter((filename) => path === `/simple/${filename.split('-')[0]}/`)
      .map((filename) => `<a href="/files/${filename}">${filename}</a>`);
    response.writeHead(links.length === 0 ? 404 : 200, { 'content-type': 'text/html' });
    response.end(`<!DOCTYPE html><html><body>${links.join('')}</body></html>`);
  });
}
