const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/**
 * Resolves when the condition holds; rejects, saying what it waited for, when it does not within the time. That is there to
 * end what hangs, and long enough for a machine with fifteen times as much to do as it can.
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what = "the condition to hold",
  timeoutMs = 300_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  // Looked at less and less often: what takes long is not made longer by looking.
  for (let pauseMs = FIRST_PAUSE_MS; !(await condition()); pauseMs = Math.min(pauseMs * 1.1, LONGEST_PAUSE_MS)) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
