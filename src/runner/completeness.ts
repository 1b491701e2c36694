/** The table of a job summary that shows which of the requested targets are stored, by which run, and which are missing. */
import { code, escapeCell, table } from './markdown.ts';

/** A requested target. */
export interface RequestedTarget {
  readonly name: string;
  /** Markdown: which run stored it; undefined if it is missing. */
  readonly origin: string | undefined;
}

const MISSING = '**missing**';
/** A Python tag (PEP 425) or version. */
const PYTHON = '(?:py2\\.)?(?:cp|pp|gp|graalpy|py)\\d\\w*|\\d+\\.\\d+t?';
/** As cibuildwheel names builds, if necessary with the ABI, and after the project and a dot if there are several. */
const PYTHON_FIRST = new RegExp(
  `^(?:(?<project>.+?)\\.)??(?<python>(?:${PYTHON})(?:-(?:abi3t?|none))?)-(?<platform>[^-]+)$`,
);
const PLATFORM_FIRST = new RegExp(`^(?<platform>.+)-(?<python>${PYTHON})$`);
/** Larger grids are too wide to read, so each target gets a row. */
const MAX_COLUMNS = 12;

/**
 * Renders the table: a grid of platforms and Pythons if all names consist of both (`cp312-manylinux_x86_64`,
 * `linux-x86_64-cp312`), or else a row for each target.
 *
 * @returns GitHub-flavoured Markdown; rows and columns are in the order of the targets
 */
export function renderCompleteness(targets: readonly RequestedTarget[]): string {
  const cells = targets.map((target) => ({ ...target, ...splitName(target.name) }));
  const pythons = [...new Set(cells.map(({ python }) => python))];
  const platforms = [...new Set(cells.map(({ platform }) => platform))];
  const isGrid = !pythons.includes(undefined) && pythons.length > 1 && pythons.length <= MAX_COLUMNS;
  if (!isGrid) {
    const rows = targets.map(({ name, origin }) => [nameOf(name), origin ?? MISSING]);
    return table(['Target', 'Stored by'], rows);
  }
  const rows = platforms.map((platform) => [
    code(platform!),
    ...pythons.map((python) => {
      const cell = cells.find((each) => each.platform === platform && each.python === python);
      return cell === undefined ? '' : (cell.origin ?? MISSING);
    }),
  ]);
  return table(['', ...pythons.map((python) => escapeCell(python!))], rows);
}

function nameOf(target: string): string {
  return target === '' ? 'without a target' : code(target);
}

function splitName(name: string): { python: string | undefined; platform: string | undefined } {
  const { project, python, platform } = (PYTHON_FIRST.exec(name) ?? PLATFORM_FIRST.exec(name))?.groups ?? {};
  return { python, platform: project === undefined ? platform : `${project} ${platform}` };
}
