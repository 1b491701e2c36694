/** A clock for a step's process, so that a test of what takes minutes need not take them. */

/**
 * The environment of a process whose `process.uptime()` goes on by `milliseconds` each time that it is asked,
 * and never else.
 */
export function steppingClock(milliseconds: number): Record<string, string> {
  const script = `let now = 0; process.uptime = () => (now += ${milliseconds / 1000});`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}
