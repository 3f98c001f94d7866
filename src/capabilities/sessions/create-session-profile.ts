import { Type } from "typebox";
import { addSessionProfile } from "../../authority/rules/session-profiles.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Expression, Label, Notes, Seconds, Strict } from "../../engine/fields.ts";
import { validateExpression } from "../../policy/validate.ts";

export const createSessionProfile = activity({
  path: "create_session_profile",
  summary:
    "Create a profile with which sessions can be issued, here and in the sub-organizations. It limits what they may do, and cannot be changed.",
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
  change: ({ view, id, intent: { sessionProfileName: name, scope, expirationSeconds, notes = null }, now }) =>
    changesOn(view, (draft) =>
      addSessionProfile(draft, {
        id: id("sessionProfile"),
        name,
        scope,
        expirationSeconds: expirationSeconds === undefined ? null : Number(expirationSeconds),
        notes,
        createdAt: now,
      }),
    ),
  answer: ({ id }) => ({ sessionProfileId: id("sessionProfile") }),
});
