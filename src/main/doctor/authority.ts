import { compareRows } from "../../engine/authority/consistency.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { openInspection } from "../../storage/inspection.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK = "authority";
const REMEDY =
  "Somebody wrote to the database beside the servers, or it is damaged. Undo that or restore a backup, and restart every server: they keep what they have read";

/** Whether the rows that say who may do what agree with one another. The database must be there and of this version. */
export async function checkAuthority({ databaseUrl }: Pick<Config, "databaseUrl">): Promise<Finding[]> {
  const inspection = await openInspection(databaseUrl);
  try {
    const { contradictions, unknown } = await compareRows(inspection);
    const found = [
      ...contradictions.map(({ what, examples }) =>
        fail(CHECK, `there are ${what}: ${examples.join(", ")}. ${REMEDY}`),
      ),
      ...unknown.map(({ what, error }) => warn(CHECK, `whether there are ${what} was not told: ${reasonOf(error)}`)),
    ];
    return found.length > 0 ? found : [ok(CHECK, "the rows that say who may do what agree with one another")];
  } finally {
    await inspection.close();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof DatabaseFailure) return `the database ${error.reason}`;
  throw error;
}
