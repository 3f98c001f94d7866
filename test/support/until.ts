/** Resolves when the condition holds; rejects, saying what it waited for, when it does not within the time. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what = "the condition to hold",
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
