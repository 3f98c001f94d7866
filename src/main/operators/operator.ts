import { hostname, userInfo } from "node:os";
import { announceActivity } from "../../capabilities/webhooks/index.ts";
import type { ActivityChange } from "../../engine/activities/ballot.ts";
import type { Operator } from "../../engine/activities/operator-activities.ts";
import { Label } from "../../engine/fields.ts";
import { organizationOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import { matches } from "../../engine/validate.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MAX_LABEL_LENGTH } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { type AuditSettings, sinkNamesOf } from "../audit/settings.ts";
import { recordChange } from "../audit/stream.ts";
import { StartProblem } from "../config.ts";

/** Shared by the operators' commands on organizations. */

/** What a change by an operator needs in addition to the database. */
export interface OperatorContext {
  audit: AuditSettings | undefined;
  /** The time that the database's servers use. */
  clock: Clock;
}

/** The system user who runs this command. In some containers, users have no name. */
export function thisOperator(): Operator {
  const host = hostname();
  try {
    return { user: userInfo().username, host };
  } catch {
    return { user: `uid ${process.getuid?.() ?? "unknown"}`, host };
  }
}

/** @throws StartProblem */
export async function requireOrganization(read: Reader, id: string): Promise<Organization> {
  const row = await read.selectFrom("organizations").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw new StartProblem(`there is no organization ${id}`);
  if (row.deleted_at !== null) throw new StartProblem(`organization ${id} was deleted; its keys are gone`);
  return organizationOf(row.id, row.name, row);
}

/** @throws StartProblem if an activity cannot store the text */
export function requireLabel(option: string, text: string | undefined): void {
  if (text === undefined || matches(Label, text)) return;
  throw new StartProblem(`${option} must have 1 to ${MAX_LABEL_LENGTH} printable characters`);
}

/** Announces an operator's change to webhooks and the audit stream, in the transaction that stores it. */
export async function tellOf(tx: Transactor, audit: AuditSettings | undefined, change: ActivityChange): Promise<void> {
  await announceActivity(tx, change);
  await recordChange(tx, sinkNamesOf(audit), change);
}
