import { contradictions } from "../../engine/authority/consistency.ts";
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
    const found = await contradictions(inspection);
    if (found.length === 0) return [ok(CHECK, "the rows that say who may do what agree with one another")];
    return found.map(({ what, examples }) => fail(CHECK, `there are ${what}: ${examples.join(", ")}. ${REMEDY}`));
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
    return [warn(CHECK, `it was not looked at: the database ${error.reason}`)];
  } finally {
    await inspection.close();
  }
}
