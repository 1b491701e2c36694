import { publish } from '../actions/publish.ts';
import { setFailureOutputs } from '../runner/outputs.ts';
import { run } from '../runner/run.ts';

await run(publish, setFailureOutputs);
