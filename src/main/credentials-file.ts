import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncFolder } from "../kernel/sync-folder.ts";
import { StartProblem } from "./start-problem.ts";

/** The credentials of a new root organization, which `keystead call` and the SDKs read. */
export interface Credentials {
  baseUrl: string;
  organizationId: string;
  organizationName: string;
  userId: string;
  userName: string;
  /** P-256: compressed public key and private scalar, in lowercase hex. Without the private key if only the caller has it. */
  apiKey: { publicKey: string; privateKey?: string };
}

export const credentialsFileIn = (dataDir: string): string => join(dataDir, "credentials.json");
export const addressFileIn = (dataDir: string): string => join(dataDir, "address.json");

/** Writes a file completely or not at all. The file is on disk when this returns. */
export function writeFileDurably(file: string, text: string, mode: number): void {
  const temporary = `${file}.${process.pid}.tmp`;
  const descriptor = openSync(temporary, "w", mode);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  syncFolder(dirname(file));
}

/**
 * Undefined if the file does not exist.
 *
 * @throws StartProblem if it cannot be read
 */
export function readCredentials(file: string): Credentials | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Credentials;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    const what =
      code === undefined
        ? "is not valid JSON; restore its previous content"
        : `cannot be read (${code}); run this command as the server's user`;
    throw new StartProblem(`the credentials file ${file} ${what}`);
  }
}

/** The URL at which the server of this data directory listens now or did last; the port may differ at each start. */
export function readAddress(dataDir: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(addressFileIn(dataDir), "utf8")) as { baseUrl: string }).baseUrl;
  } catch {
    return undefined;
  }
}
