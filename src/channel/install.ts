/** What users paste to install from a channel. Pure functions. */
import { pinned } from '../slots/pinned.ts';
import { shellSafe } from '../untrusted/shell.ts';
import type { WheelName } from '../wheel/filename.ts';

/** Commands for a shell. */
export interface ChannelCommands {
  readonly pip: string;
  readonly uv: string;
}

/**
 * The commands that install wheels from a channel, and from PyPI what they depend on. Each project is pinned, because an
 * installer would otherwise take a release from PyPI instead of a development version (PEP 440, "Handling of
 * pre-releases"), or any newer version. uv takes a project only from the first index that has it: the channel.
 *
 * @param channelUrl - of the channel's folder
 * @param names - at least one
 */
export function channelCommands(
  channelUrl: string,
  names: readonly Pick<WheelName, 'project' | 'version'>[],
): ChannelCommands {
  const [url, requirements] = [shellSafe(channelUrl), pinned(names).join(' ')];
  return {
    pip: `pip install --extra-index-url "${url}" ${requirements}`,
    uv: `uv pip install --index "${url}" ${requirements}`,
  };
}

/**
 * The lines of pyproject.toml that make uv take the projects from the channel, and nothing else (uv docs, "Package
 * indexes": `explicit`).
 *
 * @param projects - normalised
 */
export function uvSettings(channel: string, channelUrl: string, projects: readonly string[]): string {
  return [
    '[[tool.uv.index]]',
    `name = "${channel}"`,
    `url = "${shellSafe(channelUrl)}"`,
    'explicit = true',
    '',
    '[tool.uv.sources]',
    ...projects.map((project) => `${project} = { index = "${channel}" }`),
  ].join('\n');
}
