import { store } from '../actions/store.ts';
import { run } from '../runner/run.ts';

await run(store);
