import { KeysteadError } from "../kernel/errors.ts";

/** A request that was refused because its sender could not be authenticated or its address is not allowed. */
export interface RefusedAuthentication {
  /** The name of the error. */
  reason: string;
  /** The path of the operation, such as `whoami`. */
  operation: string;
  /** The organization that the request claims, unverified. It reads the body, so call it only if a line is written. */
  organizationId: () => string | undefined;
  /** The client's address, behind the trusted proxies, if it is known. */
  remoteAddress: string | undefined;
}

/** The audit stream, as the engine sees it. */
export interface RequestAudit {
  /** It must not throw. */
  refused(refusal: RefusedAuthentication): void;
  /** @throws KeysteadError AUDIT_BACKLOG_FULL while activities and votes are not accepted because the backlog is full */
  refuseWhenFull(): void;
}

export const noAudit: RequestAudit = { refused: () => {}, refuseWhenFull: () => {} };

/** Whether a request failed because of its sender or its address. */
export const isRefusedAuthentication = (error: unknown): error is KeysteadError =>
  error instanceof KeysteadError && (error.httpStatus === 401 || error.code === "IP_NOT_ALLOWED");
