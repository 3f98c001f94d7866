import { systemReason } from "../system-reason.ts";

/** Where lines go. */
export interface Sink {
  /**
   * Hands lines over, in their order; resolves once the sink has all of them, as far as it says so. What fails may have been
   * taken in part, and comes again.
   *
   * @throws SinkFailure
   */
  deliver(lines: readonly string[], timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Why a sink takes no lines, in words that follow on its name: plain, with neither an address nor a secret. */
export class SinkFailure extends Error {}

/** The failure that an error of the system is. */
export function sinkFailure(error: unknown): SinkFailure {
  if (error instanceof SinkFailure) return error;
  return new SinkFailure(systemReason(error as NodeJS.ErrnoException), { cause: error });
}

/** @throws SinkFailure where the work takes longer */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SinkFailure("did not take lines in time")), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
