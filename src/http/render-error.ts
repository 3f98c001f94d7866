import { KeysteadError } from "../kernel/errors.ts";
import { DatabaseFailure } from "../storage/failure.ts";

export interface RenderedError {
  status: number;
  body: { code: number; message: string; details: unknown[]; turnkeyErrorCode: string };
  /** When the client may retry, if known. */
  retryAfterSeconds?: number;
  /** The error's name in the list of errors. */
  name: string;
  /** Who should investigate: the client only got a request id, or a message that something is unavailable. */
  seenBy: "developers" | "operators" | undefined;
}

/** The public form of any error. Whatever is not known to be public is omitted. */
export function renderError(error: unknown, requestId: string): RenderedError {
  const shown = publicError(error, requestId);
  const { httpStatus: status, grpcCode: code, message, turnkeyErrorCode, retryAfterSeconds } = shown;
  const detail = { "@type": "type.googleapis.com/errors.v1.TurnkeyErrorDetail", turnkeyErrorCode };
  return {
    status,
    body: { code, message, details: [...shown.details, detail], turnkeyErrorCode },
    name: shown.code,
    seenBy: seenBy(shown),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds)) }),
  };
}

function seenBy({ httpStatus, code }: KeysteadError): RenderedError["seenBy"] {
  // An operator has stopped all changes on purpose.
  if (httpStatus < 500 || code === "MAINTENANCE") return undefined;
  return httpStatus === 503 ? "operators" : "developers";
}

function publicError(error: unknown, requestId: string): KeysteadError {
  if (error instanceof KeysteadError) return error;
  if (error instanceof DatabaseFailure && error.kind !== "bug") {
    return new KeysteadError(error.kind === "lost" ? "DATABASE_FILE_LOST" : "DATABASE_UNAVAILABLE", {}, []);
  }
  // Errors of the HTTP layer: the body never reached an operation.
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return new KeysteadError(
      "BODY_INVALID",
      { reason: "its Content-Type is no media type; send application/json" },
      [],
    );
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new KeysteadError("BODY_INVALID", { reason: "the request could not be read" }, []);
  }
  return new KeysteadError("INTERNAL", { requestId }, []);
}
