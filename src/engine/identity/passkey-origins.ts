import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import { parseOrigins } from "../../crypto/webauthn-data.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Organization } from "../operations.ts";
import { rootIdOf } from "./organizations.ts";

/** The origins from which passkeys of an organization may be used. A parent's rule applies to its sub-organizations. */

/** A condition on `organization_features as f`: it is the rule of this organization, which has no parent. */
export function isOriginsRule(rootId: string | Expression<string>): Expression<SqlBool> {
  const of = expressionBuilder<{ f: Schema["organization_features"] }, "f">();
  return of.and([of("f.organization_id", "=", rootId), of("f.name", "=", "FEATURE_NAME_WEBAUTHN_ORIGINS")]);
}

/** The origins in a rule. A rule that cannot be parsed allows nothing. */
export const originsOf = (rule: string | null): readonly string[] => parseOrigins(rule ?? "") ?? [];

/** The origins from which passkeys of this organization may be used; any if undefined. */
export async function findAllowedOrigins(
  read: Reader,
  organization: Organization,
): Promise<readonly string[] | undefined> {
  const rule = await read
    .selectFrom("organization_features as f")
    .select("f.value")
    .where(isOriginsRule(rootIdOf(organization)))
    .executeTakeFirst();
  return rule && originsOf(rule.value);
}
