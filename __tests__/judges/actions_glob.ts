/** Runs `@actions/glob`, which takes the workspace and the home folder from its process, over many values of `path`. */
import { relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { create, type GlobOptions } from '@actions/glob';

const questions = JSON.parse(await text(process.stdin)) as { path: string; options: GlobOptions }[];
const answers: (string[] | string)[] = [];
for (const { path, options } of questions) {
  try {
    const found = await (await create(path, options)).glob();
    answers.push([...new Set(found)].map((one) => relative(process.cwd(), one)).sort());
  } catch (error) {
    answers.push((error as Error).message);
  }
}
// The toolkit writes its debug lines to the same stream.
process.stdout.write(`\n${JSON.stringify(answers)}`);
