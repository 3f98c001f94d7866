/** CPU milliseconds that this thread has used: unlike the clock, they do not run while other processes do. */
const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** What `work` used of this thread's CPU, in milliseconds. */
export function cpuOf(work: () => void): number {
  const start = usedMs();
  work();
  return usedMs() - start;
}

/** The most CPU milliseconds that anything on this thread took without letting others go, while `work` was under way. */
export async function longestHold(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let isDone = false;
  let last = usedMs();
  const look = () => {
    const now = usedMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  try {
    await work();
  } finally {
    isDone = true;
  }
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}
