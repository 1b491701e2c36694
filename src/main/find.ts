import { find } from '../actions/find.ts';
import { setFailureOutputs } from '../runner/outputs.ts';
import { run } from '../runner/run.ts';

await run(find, setFailureOutputs);
