import { type Static, Type } from "typebox";
import { Label, OneOf, Strict, Timestamp } from "../../engine/fields.ts";
import { MAX_POLICY_LENGTH } from "../../kernel/limits.ts";

export const Effect = OneOf(["EFFECT_ALLOW", "EFFECT_DENY"]);
/** Longer ones are refused by the language with its own words; this bound is far above. */
export const Expression = Type.String({ maxLength: 4 * MAX_POLICY_LENGTH });
export const Notes = Type.String({ maxLength: 4096 });

export const PolicyParams = Strict({
  policyName: Label,
  effect: Effect,
  condition: Type.Optional(Expression),
  consensus: Type.Optional(Expression),
  notes: Notes,
  time: Type.Optional(Expression),
});
export type PolicyParams = Static<typeof PolicyParams>;

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
