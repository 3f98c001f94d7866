/** The problem with a file or an address. The text continues a sentence that starts with its name, and contains neither an address nor a path. */
export function systemReason({ code, message }: NodeJS.ErrnoException): string {
  return (code !== undefined && REASONS[code]) || `failed (${code ?? message})`;
}

const REASONS: Record<string, string> = {
  ENOSPC: "has no room left on its disk",
  EDQUOT: "has no room left in its disk quota",
  EFBIG: "has reached its maximum size",
  EROFS: "is on a read-only disk",
  EACCES: "cannot be written by this user",
  EPERM: "cannot be written by this user",
  ENOENT: "is in a place that does not exist",
  ENOTDIR: "is in a place that does not exist",
  EEXIST: "is in a place that does not exist",
  EISDIR: "has the name of a folder",
  EIO: "is on a faulty disk",
  ECONNREFUSED: "refuses connections: nothing listens at its address",
  ECONNRESET: "ended the connection",
  EPIPE: "ended the connection",
  ENOTFOUND: "cannot be found: its host name has no address",
  EAI_AGAIN: "cannot be found: its host name has no address at the moment",
  EHOSTUNREACH: "cannot be reached: there is no route to its host",
  ENETUNREACH: "cannot be reached: there is no route to its host",
  ETIMEDOUT: "did not answer in time",
  ABORT_ERR: "did not answer in time",
  EPROTOTYPE: "is a datagram socket, but lines are sent only to stream sockets",
};
