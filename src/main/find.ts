import { find } from '../actions/find.ts';
import { run } from '../runner/run.ts';

await run(find);
