import { run } from '../actions/run.ts';
import { fetch } from '../fetch.ts';

await run(fetch);
