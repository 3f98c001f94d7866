import { MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import type { Inspection } from "../../storage/inspection.ts";
import { type Finding, ok, warn } from "./finding.ts";

const CHECK = "jobs";

/** Reports jobs that a server has given up, which wait for somebody to decide about them. */
export async function checkJobs(inspection: Pick<Inspection, "all">): Promise<Finding> {
  const [found] = await inspection.all<{ dead: number | string }>(
    `select count(*) as dead from (select 1 from jobs where state = 'dead' limit ${MAX_COUNTED_JOBS}) as counted`,
  );
  const dead = Number(found?.dead);
  if (dead === 0) return ok(CHECK, "no job is dead");
  const who = dead === 1 ? "1 job is dead" : `${dead}${dead === MAX_COUNTED_JOBS ? " or more" : ""} jobs are dead`;
  return warn(
    CHECK,
    `${who}: \`keystead jobs list\` shows the reasons. Once the cause is gone, \`keystead jobs retry --all\` runs them again`,
  );
}
