/** Fakes the clock in a step's process, so that tests of long waits are fast. */

/**
 * The environment for a process in which each call of `process.uptime()` advances the clock by `milliseconds`. It does
 * not advance otherwise.
 */
export function steppingClock(milliseconds: number): Record<string, string> {
  const script = `let now = 0; process.uptime = () => (now += ${milliseconds / 1000});`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}
