import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import type { AllowlistInForce } from "../../authority/decisions/ip-allowlists.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";

/** Which IP allowlist of an organization applies to all its users, besides those of single API keys. */

/** A condition on `ip_allowlists as a`: it is this organization's own, and enabled. */
export function isInForce(organizationId: string | Expression<string>): Expression<SqlBool> {
  const of = expressionBuilder<{ a: Schema["ip_allowlists"] }, "a">();
  return of.and([
    of("a.organization_id", "=", organizationId),
    of("a.id", "=", organizationId),
    of("a.enabled", "=", of.lit(1)),
  ]);
}

/** The columns of a list; null if there is none. */
export const allowlistFrom = (
  rules: string | null,
  onEvaluationError: AllowlistInForce["onEvaluationError"] | null,
): AllowlistInForce | undefined =>
  rules === null || onEvaluationError === null ? undefined : { rules, onEvaluationError };

export async function findAllowlist(read: Reader, organizationId: string): Promise<AllowlistInForce | undefined> {
  const [row] = await selectAllowlist(read, { organizationId });
  return row && allowlistFrom(row.rules, row.on_evaluation_error);
}

const selectAllowlist = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("ip_allowlists as a").select(["a.rules", "a.on_evaluation_error"]).where(isInForce(organizationId)),
);
