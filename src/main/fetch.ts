import { fetch } from '../actions/fetch.ts';
import { setFailureOutputs } from '../runner/outputs.ts';
import { run } from '../runner/run.ts';

await run(fetch, setFailureOutputs);
