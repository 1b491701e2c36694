/** The look-up that `find`, `fetch` and `publish` share: waits as long as `wait` allows, and logs the warnings. */
import type { Bucket } from '../bucket/bucket.ts';
import { WheelStoreError } from '../errors.ts';
import type { LookUpInputs } from '../runner/inputs.ts';
import { describeWheel, info, infoGroup, warn } from '../runner/log.ts';
import { describeQuery, type LookUpResult } from '../slots/lookup.ts';
import { lookUpUntil, type Queries } from '../slots/wait.ts';

/** GitHub shows at most ten annotations of each kind per step. */
const MAX_WARNINGS = 10;

/** The result of a look-up. */
export interface LookUpOutcome extends LookUpResult {
  /** A sentence about what is not stored, if the result is not complete. */
  readonly notStored: string;
}

/**
 * Looks up the wheels that the inputs select.
 *
 * @throws WheelStoreError if the store cannot be read, or the interpreter of `for-python` cannot be run
 */
export async function lookUpWheels(
  bucket: Bucket,
  inputs: LookUpInputs,
  signal: AbortSignal,
): Promise<LookUpOutcome> {
  const interpreter = inputs.forPython === undefined ? undefined : await readInterpreter(inputs.forPython);
  const started = process.uptime();
  const onWait = (failure: WheelStoreError | undefined) => {
    const why = failure?.message ?? `Not stored yet: ${describeQuery(inputs, older(inputs))}.`;
    info(`${why} Looking again for up to ${inputs.wait} seconds.`);
  };
  warnOfUnknownTargets(inputs);
  const result = await lookUpUntil(inputs.wait, onWait, bucket, queriesOf(inputs), signal, interpreter);
  showWarnings(result);
  const { commit } = result.place;
  if (commit !== inputs.place.commit) {
    const passed = inputs.commits.indexOf(commit);
    info(
      `Commit ${commit} has the requested wheels, and the ${passed === 1 ? 'one' : passed} before it in 'commit' not all.`,
    );
  }
  const waited =
    inputs.wait === 0 ? '' : `, after ${Math.round(process.uptime() - started)} seconds of waiting`;
  infoGroup(
    `Found ${result.wheels.length} wheels`,
    result.wheels.map((wheel) => `Found ${describeWheel(wheel, inputs)}.`),
  );
  return { ...result, notStored: `Not stored: ${describeMissing(result, inputs)}${waited}.` };
}

function queriesOf(inputs: LookUpInputs): Queries {
  const [first, ...more] = inputs.commits.map((commit) => ({
    ...inputs,
    place: { ...inputs.place, commit },
  }));
  return [first!, ...more];
}

function older({ commits }: LookUpInputs): number {
  return commits.length - 1;
}

/** The error for a look-up that did not find all that was requested. */
export function notStoredError({ notStored, otherVersions }: LookUpOutcome): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel not stored',
    reason: notStored,
    remedy:
      otherVersions.length > 0
        ? 'Build and store that version. If the version comes from git (setuptools-scm), the wheel of a branch does not have the version of the tag.'
        : 'Check that the job that stores it runs first (needs:) and uses the same bucket, prefix, commit and target, or set on-missing: ignore.',
  });
}

/** `*` means all that are stored, which may be half of a matrix that is still being built. */
function warnOfUnknownTargets({ targets, expect, wait }: LookUpInputs): void {
  if (targets !== '*' || expect.length > 0) return;
  const why = "target: '*' takes what is stored, and cannot know what is still being built";
  if (wait === 0) info(`${why}. To require certain targets, name them in 'expect'.`);
  else
    warn(
      `${why}, so the step waits for the first wheel only. Name the targets to wait for in 'expect'.`,
      'Unknown targets',
    );
}

/** The targets of which the job summary shows whether they are stored. With `for-python`, not all are looked at. */
export function shownTargets({ targets, expect, forPython }: LookUpInputs): readonly string[] {
  if (forPython !== undefined) return [];
  return targets === '*' ? expect : targets;
}

/** Logs the warnings of a look-up. */
export function showWarnings({ warnings }: Pick<LookUpResult, 'warnings'>): void {
  for (const { text, title } of warnings.slice(0, MAX_WARNINGS)) warn(text, title);
  if (warnings.length > MAX_WARNINGS)
    info(`${warnings.length - MAX_WARNINGS} more such warnings are not shown.`);
}

async function readInterpreter(python: string) {
  // Loaded only if needed, because it slows the start down.
  const { queryInterpreter } = await import('../wheel/interpreter.ts');
  const interpreter = await queryInterpreter(python);
  info(`Selecting the wheel for ${interpreter.executable}, Python ${interpreter.version}.`);
  return interpreter;
}

function describeMissing(result: LookUpResult, inputs: LookUpInputs): string {
  const { missing, missingProjects, incompatible, otherVersions, wheels } = result;
  const isPartial = wheels.length > 0;
  if (incompatible.length > 0 && missing.length === 0) {
    const whose = isPartial ? ` of ${missingProjects.join(', ')}` : '';
    return `a wheel${whose} that ${inputs.forPython} can install; there are ${incompatible.join(', ')}`;
  }
  const query = {
    ...inputs,
    targets: isPartial && missing.length > 0 ? missing : inputs.targets,
    projects: isPartial && missingProjects.length > 0 ? missingProjects : inputs.projects,
  };
  const instead = otherVersions.length === 0 ? '' : `; stored is ${otherVersions.join(', ')}`;
  return `${describeQuery(query, older(inputs))}${instead}`;
}
