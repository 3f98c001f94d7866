/** Resolves when the condition holds; rejects when it does not within the time. */
export async function until(condition: () => Promise<boolean> | boolean, timeoutMs = 15_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition did not come to hold in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
