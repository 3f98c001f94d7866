import { isAbsolute } from "node:path";
import { type Static, Type } from "typebox";
import { encryption } from "../../storage/backup/encryption.ts";

/** The schedule of automatic backups. */
export const BackupSchedule = Type.Object(
  {
    every: Type.Integer({ minimum: 60, maximum: 30 * 86_400 }),
    keep: Type.Integer({ minimum: 1, maximum: 1000 }),
    directory: Type.String({ minLength: 1 }),
    encryptTo: Type.Optional(Type.String({ pattern: "^age1" })),
  },
  {
    additionalProperties: false,
    description:
      'Backups by the server itself, only in the configuration file: {"every": 86400, "keep": 14, "directory": "/var/backups/keystead"}. "every" is in seconds, "keep" is the number of backups, and "directory" is an absolute path; "encryptTo" is an age recipient.',
  },
);
export type BackupSchedule = Static<typeof BackupSchedule>;

/** The problem with a schedule that has the right form, if any. */
export function scheduleProblem({ directory, encryptTo }: BackupSchedule, databaseUrl: string): string | undefined {
  if (!isAbsolute(directory)) return "`directory` must be an absolute path";
  if (databaseUrl === "sqlite::memory:") return "a database in memory cannot be backed up";
  try {
    if (encryptTo !== undefined) encryption(encryptTo);
    return undefined;
  } catch (error) {
    return `\`encryptTo\`: ${(error as Error).message}`;
  }
}
