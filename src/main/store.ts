import { run } from '../actions/run.ts';
import { store } from '../store.ts';

await run(store);
