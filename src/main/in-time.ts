import { setTimeout } from "node:timers/promises";
import { HEALTH_DEADLINE_MS } from "../kernel/limits.ts";
import { sharedAnswer } from "../kernel/shared-answer.ts";

/**
 * Wraps a check that may be slow, for metrics and readiness. Concurrent callers share one run. Resolves to undefined if it fails or is late.
 */
export function inTime<T>(look: () => Promise<T>): () => Promise<T | undefined> {
  const shared = sharedAnswer(look);
  return () => {
    const late = setTimeout(HEALTH_DEADLINE_MS, undefined, { ref: false });
    return Promise.race([shared(), late]).catch(() => undefined);
  };
}
