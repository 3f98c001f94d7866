import { MAX_ANSWER_HEADER_BYTES } from "../kernel/limits.ts";

export type OutboundErrorKind = "url" | "dns" | "blocked" | "connect" | "tls" | "timeout" | "reset" | "protocol";

/** What an outbound request was waiting for. */
export type Stage = "queue" | "name" | "connect" | "tls" | "answer" | "body";

/**
 * Why an outbound request has no answer. `message` may be shown to the owner of the receiver: it contains no address, and no name except
 * those in their URL. `cause` is only for the operator's log.
 */
export class OutboundError extends Error {
  readonly kind: OutboundErrorKind;
  /** The stage in which the request timed out, if it did. */
  readonly waitedFor: Stage | undefined;

  constructor(kind: OutboundErrorKind, message: string, cause?: unknown, waitedFor?: Stage) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "OutboundError";
    this.kind = kind;
    this.waitedFor = waitedFor;
  }
}

const AT_DEADLINE: Record<Stage, string> = {
  queue: "earlier requests to this host were still open",
  name: "the host name was still being resolved",
  connect: "the connection was not established",
  tls: "the TLS handshake was not finished",
  answer: "no answer had begun",
  body: "the answer was not finished",
};

/** The error for a request that timed out in this stage. */
export function deadlineError(timeoutMs: number, stage: Stage): OutboundError {
  return new OutboundError("timeout", `gave up after ${timeoutMs} ms: ${AT_DEADLINE[stage]}`, undefined, stage);
}

/** The error for a request that the client ends, or does not begin any more, because it is being closed. */
export const stopping = (): OutboundError =>
  new OutboundError("reset", "the request was given up because this service is stopping");

/** The error for a request whose connection ended early. */
export const closedEarly = (cause: unknown): OutboundError => new OutboundError("reset", CLOSED_EARLY, cause);

const CLOSED_EARLY = "the connection was closed before the answer was complete";

const CONNECT_TEXT: Record<string, string> = {
  ECONNREFUSED: "the connection was refused",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the host's network cannot be reached",
  ETIMEDOUT: "the connection attempt was not answered",
};

/** If a receiver resets immediately, the reset may be reported before the connection. */
function connectError(code: string, cause: unknown): OutboundError {
  if (code === "ECONNRESET") return new OutboundError("reset", CLOSED_EARLY, cause);
  return new OutboundError("connect", CONNECT_TEXT[code] ?? "could not connect", cause);
}

const TLS_TEXT: Record<string, string> = {
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  CERT_REVOKED: "the certificate is revoked",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  INVALID_PURPOSE: "the certificate is not one for a server",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate's authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's authority is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate chain is incomplete or its authority is not trusted",
  ECONNRESET: "the connection was closed during the TLS handshake",
  EPROTO: "the host does not speak TLS on this port, or no common version and cipher exists",
};

/** Converts an error that Node.js reports for a request in `stage`. An `OutboundError` is returned unchanged. */
export function toOutboundError(error: unknown, stage: Stage): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  if (stage === "queue") return new OutboundError("protocol", "the request's headers are not valid", error);
  if (stage === "name" || stage === "connect") return connectError(code, error);
  if (stage === "tls" || code.startsWith("ERR_SSL_")) {
    return new OutboundError("tls", TLS_TEXT[code] ?? "the TLS handshake failed", error);
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return new OutboundError(
      "protocol",
      `the answer's headers are larger than ${MAX_ANSWER_HEADER_BYTES} bytes`,
      error,
    );
  }
  if (code.startsWith("HPE_")) return new OutboundError("protocol", "the answer is not valid HTTP/1.1", error);
  return closedEarly(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
