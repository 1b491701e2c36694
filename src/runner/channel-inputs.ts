/** Reads the inputs that say which channel a step is about. */
import * as core from '@actions/core';
import { type ChannelPlace, channelFolder, isChannel, isCommit, normalisePrefix } from '../slots/layout.ts';
import { checkBucketName } from './bucket-inputs.ts';
import { badInput } from './values.ts';

/** A channel, and how much of it stays. */
export interface ChannelInputs {
  /** The bucket that the channel is in. */
  readonly name: string;
  readonly channel: ChannelPlace;
  /** How many versions of each project stay; undefined: all. */
  readonly keep: number | undefined;
}

/**
 * The inputs `channel`, `channels`, `channel-bucket` and `keep`.
 *
 * @param prefix - of the store, normalised
 * @param bucket - of the store
 * @throws WheelStoreError that names the input that is wrong
 */
export function readChannelInputs(prefix: string, bucket: string): ChannelInputs {
  const channel = { channels: readChannels(), channel: readChannel() };
  const name = checkBucketName('channel-bucket', core.getInput('channel-bucket') || bucket);
  if (name === bucket && overlap(prefix, channel)) {
    throw badInput(
      'channels',
      channel.channels,
      `puts the channel at ${channelFolder(channel)}, which overlaps with the wheels below ${prefix}/`,
      'Choose another prefix for channels, so that each can have its own permissions and life-cycle rules.',
    );
  }
  return { name, channel, keep: readKeep() };
}

function readChannels(): string {
  return normalisePrefix(core.getInput('channels') || 'channels', 'channels');
}

function readChannel(): string {
  const text = core.getInput('channel');
  if (isChannel(text)) return text;
  const problem = isCommit(text)
    ? 'is a commit, so every commit would get a channel'
    : 'is not a name of at most 64 lower-case letters, digits and . _ -';
  throw badInput(
    'channel',
    text,
    text === '' ? 'is required' : problem,
    'Write it like nightly or pr-123, beginning with a letter or digit.',
  );
}

function readKeep(): number | undefined {
  const text = core.getInput('keep');
  if (text === '') return undefined;
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw badInput(
    'keep',
    text,
    'is not a number of versions from 1 to 99999',
    'Write it like keep: 30, or leave it empty to keep all.',
  );
}

/** Without a prefix, only commits lie at the top of the bucket, which no channel is named after. */
function overlap(prefix: string, channel: ChannelPlace): boolean {
  if (prefix === '') return false;
  const [store, folder] = [`${prefix}/`, channelFolder(channel)];
  return folder.startsWith(store) || store.startsWith(folder);
}
