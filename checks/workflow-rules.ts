/** Two rules for our own workflows that no linter checks: actions are pinned, and the last job needs all others. */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

interface Workflow {
  readonly on: unknown;
  readonly jobs: Readonly<
    Record<string, { readonly needs?: string | readonly string[]; readonly if?: string }>
  >;
}

const FOLDER = resolve(import.meta.dirname, '../.github');
const USES = /^\s*(?:-\s+)?uses:\s*(?<action>[^\s#]+)(?:\s+#\s*(?<comment>.*))?$/;

/** All violations in the workflows and actions of .github, a line each. */
export async function workflowFaults(): Promise<string[]> {
  const names = (await readdir(FOLDER, { recursive: true })).filter((name) => /\.ya?ml$/.test(name)).sort();
  const faults = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(FOLDER, name), 'utf8');
      const found = [...unpinned(text), ...(/^workflows\b/.test(name) ? gateFaults(text) : [])];
      return found.map((fault) => `.github/${name}: ${fault}`);
    }),
  );
  return faults.flat();
}

/**
 * Finds actions that are not pinned. Third-party actions must be pinned to a commit hash, with the version in a comment
 * for readers and dependabot, and Docker images to a digest, since a tag could be moved to other code.
 */
export function unpinned(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const { action, comment = '' } = USES.exec(line)?.groups ?? {};
    if (action === undefined || action.startsWith('./')) return [];
    if (action.startsWith('docker://')) {
      return /@sha256:[0-9a-f]{64}$/.test(action) ? [] : [`line ${index + 1}: ${action} has no digest`];
    }
    if (!/@[0-9a-f]{40}$/.test(action)) return [`line ${index + 1}: ${action} is not pinned to a full hash`];
    return /^v\d+\.\d+\.\d+$/.test(comment)
      ? []
      : [`line ${index + 1}: ${action} has no comment with its version`];
  });
}

/**
 * Checks the last job of a workflow, which branch protection and releases depend on: it must need all other jobs, and
 * must always run for pull requests, since a skipped job counts as passed.
 */
export function gateFaults(text: string): string[] {
  const { on, jobs } = parse(text) as Workflow;
  const names = Object.keys(jobs);
  const last = names.at(-1);
  if (last === undefined || names.length === 1) return [];
  const { needs = [], if: condition = '' } = jobs[last]!;
  const faults = names
    .slice(0, -1)
    .filter((name) => ![needs].flat().includes(name))
    .map((name) => `the last job, ${last}, does not need ${name}`);
  const isGate = JSON.stringify(on).includes('"pull_request"');
  if (isGate && !/^(\$\{\{\s*)?always\(\)(\s*\}\})?$/.test(condition)) {
    faults.push(`the last job, ${last}, does not have if: always()`);
  }
  return faults;
}
