import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Expression, Label, Notes, Seconds, Strict } from "../../engine/fields.ts";
import { refuseExcess } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_SESSION_PROFILES } from "../../kernel/limits.ts";
import { validateExpression } from "../../policy/validate.ts";

export const createSessionProfile = activity({
  path: "create_session_profile",
  summary:
    "Make a profile that sessions can be issued with, here and in the sub-organizations; it limits what they may do, and cannot be changed.",
  only: "parents",
  intent: Strict({
    sessionProfileName: Label,
    scope: Expression,
    expirationSeconds: Type.Optional(Seconds),
    notes: Type.Optional(Notes),
  }),
  result: Type.Object({ sessionProfileId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "SESSION_PROFILE", action: "CREATE" }),
  check: ({ scope }) => validateExpression(scope, "condition"),
  async run({ intent: { sessionProfileName, scope, expirationSeconds, notes }, tx, organization, now }) {
    const profiles = await tx
      .selectFrom("session_profiles")
      .select("name")
      .where("organization_id", "=", organization.id)
      .execute();
    if (profiles.some(({ name }) => name === sessionProfileName)) {
      const field = "parameters.sessionProfileName";
      fail("RESOURCE_EXISTS", { kind: "session profile", field, reason: "is the name of another profile" });
    }
    refuseExcess(profiles.length + 1, { kind: "session profiles", limit: MAX_SESSION_PROFILES });
    const sessionProfileId = newId();
    await tx
      .insertInto("session_profiles")
      .values({
        id: sessionProfileId,
        organization_id: organization.id,
        name: sessionProfileName,
        scope,
        expiration_seconds: expirationSeconds === undefined ? null : Number(expirationSeconds),
        notes: notes ?? null,
        created_at: now,
        updated_at: now,
      })
      .execute();
    return { sessionProfileId };
  },
});
