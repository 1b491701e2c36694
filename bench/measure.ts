/** Measures processes, one at a time. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tool } from '../testing/python.ts';

/** A process to run. */
export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** File for its output, which is discarded otherwise. */
  readonly log?: string;
}

/** The measurements of one run. */
export interface Run {
  readonly code: number;
  /** Wall clock. */
  readonly seconds: number;
  /** User and system time. */
  readonly cpu: number;
  /** Peak memory in MiB. */
  readonly peak: number;
}

/** Runs commands through one small Python process, since Node cannot read the resources of a child. */
export class Stopwatch implements Disposable {
  readonly #python: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.#python = spawn(tool('python'), [join(import.meta.dirname, 'measure.py')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#lines = createInterface({ input: this.#python.stdout! })[Symbol.asyncIterator]();
  }

  /** @throws Error if the command fails, since its time would be meaningless */
  async time(command: Command): Promise<Run> {
    if (!this.#python.stdin!.write(`${JSON.stringify(command)}\n`)) await once(this.#python.stdin!, 'drain');
    const { value } = await this.#lines.next();
    const run = JSON.parse(value as string) as Run;
    if (run.code !== 0) throw new Error(`${command.argv.join(' ')} ended with status ${run.code}`);
    return run;
  }

  [Symbol.dispose](): void {
    this.#python.stdin!.end();
  }
}

/** The median; for an even count, the mean of the two middle values. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(half)]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
