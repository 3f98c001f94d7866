import { operations } from "../../capabilities/index.ts";
import { compareRows } from "../../engine/authority/consistency.ts";
import { areMoreActivitiesThan, countActivitiesWithFacts } from "../../engine/authority/provenance/read.ts";
import { type RowProblem, traceAuthority } from "../../engine/authority/provenance/trace.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { DOCTOR_PROVENANCE_MS, MAX_DOCTOR_ACTIVITIES, MAX_DOCTOR_ACTIVITIES_IN_ALL } from "../../kernel/limits.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { type Inspection, openInspection } from "../../storage/inspection.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK = "authority";
const REMEDY =
  "Somebody changed the database without going through the servers, or it is damaged. Undo the change or restore a backup, then restart every server, because they cache what they have read";
const COMMAND = "keystead verify-authority";
const AGREE = "the rows that say who may do what are consistent";

interface Looking extends Pick<Config, "databaseUrl"> {
  clock?: Clock;
  /** The greatest number of activities to check. */
  most?: number;
}

/**
 * Checks whether the rows that determine who may do what are consistent, and match the activities that changed them. The database must exist
 * and have the schema of this version.
 */
export async function checkAuthority({
  databaseUrl,
  clock = systemClock,
  most = MAX_DOCTOR_ACTIVITIES,
}: Looking): Promise<Finding[]> {
  const inspection = await openInspection(databaseUrl);
  try {
    const contradictions = await contradictionsIn(inspection);
    const accounts = await accountsOf(inspection, { clock, most });
    const found = [...contradictions, ...accounts.findings];
    return found.length > 0 ? found : [ok(CHECK, `${AGREE}${accounts.text}`)];
  } finally {
    await inspection.close();
  }
}

async function contradictionsIn(inspection: Inspection): Promise<Finding[]> {
  const { contradictions, unknown } = await compareRows(inspection);
  return [
    ...contradictions.map(({ what, examples }) => fail(CHECK, `there are ${what}: ${examples.join(", ")}. ${REMEDY}`)),
    ...unknown.map(({ what, error }) =>
      warn(CHECK, `it could not be checked whether there are ${what}: ${reasonOf(error)}`),
    ),
  ];
}

/** The result of comparing the rows with activities, if that does not take long. If nothing was found, `text` continues `AGREE`. */
async function accountsOf(
  database: Inspection,
  { clock, most }: { clock: Clock; most: number },
): Promise<{ findings: Finding[]; text: string }> {
  const told = (...findings: Finding[]) => ({ findings, text: "" });
  try {
    if (!(await areFew(database, most))) {
      return { findings: [], text: `; there are too many activities to compare them with here: run \`${COMMAND}\`` };
    }
    const began = clock();
    const isLate = () => clock() - began > DOCTOR_PROVENANCE_MS;
    const traced = await traceAuthority({ database, operations, isLate });
    if (traced === undefined) {
      const seconds = DOCTOR_PROVENANCE_MS / 1000;
      return told(
        warn(
          CHECK,
          `it could not be checked within ${seconds} s whether activities account for the rows; run \`${COMMAND}\``,
        ),
      );
    }
    const { unaccounted, unknown } = traced;
    if (unaccounted.length > 0)
      return told(...unaccounted.map((each) => fail(CHECK, `there are ${wordsOf(each)}. ${REMEDY}`)));
    const text = ", and completed activities account for them";
    return {
      findings: [],
      text: unknown.length === 0 ? text : `${text}, or may do so in archives: \`${COMMAND}\` counts those`,
    };
  } catch (error) {
    return told(warn(CHECK, `it could not be checked whether activities account for the rows: ${reasonOf(error)}`));
  }
}

async function areFew(database: Inspection, most: number): Promise<boolean> {
  if (await areMoreActivitiesThan(database, MAX_DOCTOR_ACTIVITIES_IN_ALL)) return false;
  return (await countActivitiesWithFacts({ database, operations }, most)) <= most;
}

const wordsOf = ({ what, count, examples }: RowProblem): string =>
  `${what}: ${examples.join(", ")}${count > examples.length ? ` and ${count - examples.length} more` : ""}`;

function reasonOf(error: unknown): string {
  if (error instanceof DatabaseFailure) return `the database ${error.reason}`;
  throw error;
}
