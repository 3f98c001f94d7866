import { statSync } from "node:fs";

/** The code of the system where it does not let this user see whether something is there; undefined where it does. */
export function hiddenBy(path: string): string | undefined {
  try {
    statSync(path);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : code;
  }
}

export const hiddenText = (path: string, code: string): string =>
  `${path} cannot be looked at (${code}); run this as the user that the server runs as`;
