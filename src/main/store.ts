import { store } from '../actions/store.ts';
import { setFailureOutputs } from '../runner/outputs.ts';
import { run } from '../runner/run.ts';

await run(store, setFailureOutputs);
