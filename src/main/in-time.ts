import { setTimeout } from "node:timers/promises";
import { HEALTH_DEADLINE_MS } from "../kernel/limits.ts";
import { sharedAnswer } from "../kernel/shared-answer.ts";

/**
 * A look that may take its time, for those who ask for metrics or whether the server is ready: one for all who ask meanwhile, and
 * undefined where it fails or is late.
 */
export function inTime<T>(look: () => Promise<T>): () => Promise<T | undefined> {
  const shared = sharedAnswer(look);
  return () => {
    const late = setTimeout(HEALTH_DEADLINE_MS, undefined, { ref: false });
    return Promise.race([shared(), late]).catch(() => undefined);
  };
}
