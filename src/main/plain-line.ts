import { type ErrorCode, KeysteadError } from "../kernel/errors.ts";
import { BackupProblem } from "../storage/backup/problem.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import { StartProblem } from "./start-problem.ts";

/** A command's error in one line for the operator, with the remedy; undefined for a bug, whose stack should be shown. */
export function plainLine(error: unknown): string | undefined {
  if (error instanceof StartProblem || error instanceof BackupProblem) return error.message;
  if (error instanceof KeysteadError) {
    const remedy = remedies[error.code];
    return remedy === undefined ? error.message : `${error.message}; ${remedy}`;
  }
  if (error instanceof DatabaseFailure) {
    const { kind, reason, driverMessage } = error;
    if (kind === "bug") return undefined;
    return `the database ${reason} (${driverMessage}); mend that and run the same command again. keystead doctor looks at the database`;
  }
  return isOfSystem(error)
    ? `${error.message}; ${systemRemedies[error.code] ?? "see what the system says"}`
    : undefined;
}

/** Remedies for errors whose text, written for clients, does not say what an operator can do. */
const remedies: Partial<Record<ErrorCode, string>> = {
  SIGNER_SEALED: "set KEYSTEAD_ROOT_KEY_PASSPHRASE and run the same command again",
};

interface SystemError extends Error {
  code: string;
}

/** Node's own errors have a code too, but are bugs. Unlike errors of the system, they name no system call. */
const isOfSystem = (error: unknown): error is SystemError => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof Error && typeof code === "string" && typeof syscall === "string";
};

const systemRemedies: Record<string, string> = {
  ENOENT: "check the path: it is not there",
  ENOTDIR: "check the path: a part of it is no folder",
  EISDIR: "check the path: it is a folder",
  EACCES: "run keystead as the user that may do this, or give this one the right",
  EPERM: "run keystead as the user that may do this, or give this one the right",
  EROFS: "mount it for writing, or use another place",
  ENOSPC: "make room on that disk, or use another place",
  EDQUOT: "make room for this user, or use another place",
  EMFILE: "raise the limit of open files (ulimit -n)",
};
