import { KeysteadError } from "../kernel/errors.ts";

/** Somebody who was not taken for who they say they are, or not from where they are. */
export interface RefusedAuthentication {
  /** The name of the error. */
  reason: string;
  /** The path of the operation, such as `whoami`. */
  operation: string;
  /** As the request names it; nobody has shown to belong to it. It reads the body, so it is called only for a line that is written. */
  organizationId: () => string | undefined;
  /** From behind the trusted proxies; undefined where it is not known. */
  remoteAddress: string | undefined;
}

/** Whoever keeps an account of what is asked of the engine. */
export interface RequestAudit {
  /** It must not throw. */
  refused(refusal: RefusedAuthentication): void;
  /** @throws KeysteadError AUDIT_BACKLOG_FULL where no activity or vote is to be taken for now */
  refuseWhenFull(): void;
}

export const noAudit: RequestAudit = { refused: () => {}, refuseWhenFull: () => {} };

/** Whether a request ended because of who sent it, or of where from. */
export const isRefusedAuthentication = (error: unknown): error is KeysteadError =>
  error instanceof KeysteadError && (error.httpStatus === 401 || error.code === "IP_NOT_ALLOWED");
