/** Two rules for our own workflows that no linter has: how actions are pinned, and what the last job waits for. */
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

/** What breaks the rules in .github, workflows and actions alike, a line each. */
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
 * What a workflow uses and does not pin. An action of others is pinned by the hash of a commit, with its version
 * as a comment for people and dependabot; a Docker image by its digest. A tag could be moved to other code.
 */
export function unpinned(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const { action, comment = '' } = USES.exec(line)?.groups ?? {};
    if (action === undefined || action.startsWith('./')) return [];
    if (action.startsWith('docker://')) {
      return /@sha256:[0-9a-f]{64}$/.test(action) ? [] : [`line ${index + 1}: ${action} has no digest`];
    }
    if (!/@[0-9a-f]{40}$/.test(action)) return [`line ${index + 1}: ${action} is not pinned by a full hash`];
    return /^v\d+\.\d+\.\d+$/.test(comment)
      ? []
      : [`line ${index + 1}: ${action} has no comment with its version`];
  });
}

/**
 * What is wrong with a workflow's last job, the one that branch protection and releases look at: it needs every
 * other job, and on pull requests it runs always, because a job that is skipped counts as one that passed.
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
    faults.push(`the last job, ${last}, lacks if: always()`);
  }
  return faults;
}
