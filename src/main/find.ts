import { run } from '../actions/run.ts';
import { find } from '../find.ts';

await run(find);
