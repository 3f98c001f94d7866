import { statSync } from "node:fs";

/** The system's error code if it does not let this user see whether the path exists; otherwise undefined. */
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
  `${path} cannot be accessed (${code}); run this command as the server's user`;
