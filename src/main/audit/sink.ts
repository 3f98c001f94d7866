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

const REASONS: Record<string, string> = {
  ENOSPC: "has no room left on its disk",
  EDQUOT: "has no room left in its quota",
  EFBIG: "may not grow any more",
  EROFS: "is on a disk that is read-only",
  EACCES: "cannot be written by this user",
  EPERM: "cannot be written by this user",
  ENOENT: "is in a place that is not there",
  ENOTDIR: "is in a place that is not there",
  EEXIST: "is in a place that is not there",
  EISDIR: "has the name of a folder",
  EIO: "is on a faulty disk",
  ECONNREFUSED: "refuses connections: nothing listens at its address",
  ECONNRESET: "ended the connection",
  EPIPE: "ended the connection",
  ENOTFOUND: "cannot be found: its host name has no address",
  EAI_AGAIN: "cannot be found: its host name has no address at the moment",
  EHOSTUNREACH: "cannot be reached: there is no way to its host",
  ENETUNREACH: "cannot be reached: there is no way to its host",
  ETIMEDOUT: "did not answer in time",
  ABORT_ERR: "did not answer in time",
  EPROTOTYPE: "is a datagram socket, and lines go over stream sockets alone",
};

/** The failure that an error of the system is. */
export function sinkFailure(error: unknown): SinkFailure {
  if (error instanceof SinkFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = (code !== undefined && REASONS[code]) || `failed (${code ?? message})`;
  return new SinkFailure(reason, { cause: error });
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
