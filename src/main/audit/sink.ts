import { systemReason } from "../system-reason.ts";

/** A destination of audit lines. */
export interface Sink {
  /**
   * Delivers lines in order. Resolves once the sink has all of them, as far as it acknowledges that. A failed batch may have been accepted in
   * part, and is sent again.
   *
   * @throws SinkFailure
   */
  deliver(lines: readonly string[], timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Why a sink accepts no lines. The message continues a sentence that starts with its name, and contains neither an address nor a secret. */
export class SinkFailure extends Error {}

/** Converts an error of the system to a failure. */
export function sinkFailure(error: unknown): SinkFailure {
  if (error instanceof SinkFailure) return error;
  return new SinkFailure(systemReason(error as NodeJS.ErrnoException), { cause: error });
}

/** @throws SinkFailure if the work takes longer */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SinkFailure("did not accept lines in time")), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
