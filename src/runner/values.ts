/** Reads and validates single inputs. Each error names the input. */
import * as core from '@actions/core';
import { WheelStoreError } from '../errors.ts';
import { isDecimal } from '../slots/layout.ts';

/**
 * Reads a boolean of YAML 1.2's core schema.
 *
 * @param fallback - the value of an empty input
 * @throws WheelStoreError for anything else, including `yes` and `1`
 */
export function readBoolean(name: string, fallback: boolean): boolean {
  const text = core.getInput(name);
  if (text === '') return fallback;
  if (['true', 'True', 'TRUE'].includes(text)) return true;
  if (['false', 'False', 'FALSE'].includes(text)) return false;
  throw badInput(
    name,
    text,
    'is not true or false',
    'Write true or false (True, TRUE, False and FALSE also work).',
  );
}

/**
 * The number of a pull request.
 *
 * @returns undefined if the input is empty
 * @throws WheelStoreError if it is invalid
 */
export function readPullRequest(): number | undefined {
  const text = core.getInput('pull-request');
  if (text === '') return undefined;
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  throw badInput(
    'pull-request',
    text,
    'is not the number of a pull request',
    'Write the number alone, such as pull-request: 123, or leave it empty to use the pull request of the event.',
  );
}

/**
 * A variable that the runner sets to a decimal number.
 *
 * @throws WheelStoreError if it is unset or invalid
 */
export function readNumber(env: NodeJS.ProcessEnv, name: string): string {
  const text = env[name] ?? '';
  if (isDecimal(text)) return text;
  throw new WheelStoreError({
    title: 'Unknown run',
    reason: `${name} is ${text === '' ? 'not set' : JSON.stringify(text)}, so the run and attempt are unknown.`,
    remedy: `GitHub's runner sets it; on another runner, set ${name} to a decimal number in the env of the job.`,
  });
}

/**
 * One of several words; the first one if the input is empty.
 *
 * @throws WheelStoreError if it is none of them; the error lists them
 */
export function readChoice<Choice extends string>(
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const text = core.getInput(name);
  if (text === '') return choices[0];
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw badInput(name, text, `is not one of ${choices.join(', ')}`, `Write ${choices.join(' or ')}.`);
}

/**
 * The error for an invalid input. It shows the value, shortened if it is long.
 *
 * @param problem - the end of the sentence that begins with the input's name and value
 */
export function badInput(name: string, value: string, problem: string, remedy: string): WheelStoreError {
  const shown = value === '' ? '' : ` (${JSON.stringify(value.slice(0, 200))})`;
  return new WheelStoreError({
    title: 'Invalid input',
    reason: `The input '${name}'${shown} ${problem}.`,
    remedy,
  });
}
