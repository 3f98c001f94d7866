import { type Static, Type } from "typebox";
import type { NewPolicy } from "../../authority/rules/policies.ts";
import { Expression, Label, Notes, OneOf, Strict, Timestamp } from "../../engine/fields.ts";
import { warningCodes } from "../../policy/warnings.ts";

export const Effect = OneOf(["EFFECT_ALLOW", "EFFECT_DENY"]);
export const PolicyParams = Strict({
  policyName: Label,
  effect: Effect,
  condition: Type.Optional(Expression),
  consensus: Type.Optional(Expression),
  notes: Notes,
  time: Type.Optional(Expression),
});
export type PolicyParams = Static<typeof PolicyParams>;

export const newPolicy = (
  { policyName: name, effect, condition = "", consensus = "", time, notes }: PolicyParams,
  id: string,
): NewPolicy => ({ id, name, effect, condition, consensus, time: time || null, notes });

export const Policy = Type.Object(
  {
    policyId: Type.String(),
    policyName: Type.String(),
    effect: Effect,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    notes: Type.String(),
    consensus: Type.String(),
    condition: Type.String(),
    time: Type.Optional(Type.String()),
  },
  { $id: "Policy" },
);
export type Policy = Static<typeof Policy>;

/** An extension of this server; the published API has no warnings. */
export const Warnings = Type.Array(
  Type.Object({ policyId: Type.Optional(Type.String()), code: OneOf(warningCodes), message: Type.String() }),
  {
    description:
      "Known traps in the policy, which is stored nevertheless; absent if there are none. An extension of this server.",
  },
);
export type Warnings = Static<typeof Warnings>;
