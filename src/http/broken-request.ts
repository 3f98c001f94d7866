import { KeysteadError } from "../kernel/errors.ts";
import {
  BYTES_PER_PIECE,
  HEADER_TIMEOUT_MS,
  MAX_BODY_PIECES,
  MAX_HEADER_BYTES,
  REQUEST_TIMEOUT_MS,
} from "../kernel/limits.ts";

/** Bytes on a connection that never became a request, by the code of Node's error or our own. */

export const TOO_MANY_PIECES = "TOO_MANY_PIECES";

/** How it counts in metrics. */
export function reasonOfBroken(code: string | undefined): "broken" | "headers_too_large" | "too_slow" {
  if (code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "too_slow" : "broken";
}

/** The error for its client. */
export function brokenRequestError(code: string | undefined): KeysteadError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new KeysteadError(
      "STAMP_MALFORMED",
      { reason: `the headers are larger than ${MAX_HEADER_BYTES} bytes, or too many` },
      [],
    );
  }
  if (code === TOO_MANY_PIECES) {
    const reason = `it came in more than ${MAX_BODY_PIECES} pieces and one more for each ${BYTES_PER_PIECE} bytes; send larger pieces`;
    return new KeysteadError("BODY_INVALID", { reason }, []);
  }
  if (code !== "ERR_HTTP_REQUEST_TIMEOUT") return notHttp();
  const reason = `it did not arrive within ${REQUEST_TIMEOUT_MS / 1000} s, or its headers within ${HEADER_TIMEOUT_MS / 1000} s`;
  return new KeysteadError("BODY_INVALID", { reason }, []);
}

/** @param problem what RFC 9112 forbids about it, if that is known */
export function notHttp(problem?: string): KeysteadError {
  const reason = "the request is not valid HTTP";
  return new KeysteadError("BODY_INVALID", { reason: problem === undefined ? reason : `${reason}: ${problem}` }, []);
}
