import { fetch } from '../actions/fetch.ts';
import { run } from '../runner/run.ts';

await run(fetch);
