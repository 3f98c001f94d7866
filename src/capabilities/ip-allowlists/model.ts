import { type Static, Type } from "typebox";
import { Label, List, OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { formatCidr, parseCidr } from "../../kernel/ip-address.ts";
import { MAX_IP_RULES, MIN_IP_RULE_PREFIX } from "../../kernel/limits.ts";

export const OnEvaluationError = OneOf(["ALLOW", "DENY"]);

const RuleParams = Strict({ cidr: Type.String({ maxLength: 64 }), label: Type.Optional(Label) });
export type RuleParams = Static<typeof RuleParams>;
export const Rules = List(RuleParams, MAX_IP_RULES);

/** The public key of an API key: a compressed point, or the 32 bytes of an Ed25519 key. */
export const PublicKey = Type.String({
  pattern: "^([0-9a-fA-F]{64}|0[23][0-9a-fA-F]{64})$",
  description: "the public key of an API key in hexadecimal",
});

export const IpAllowlist = Type.Object(
  {
    organizationId: Type.String(),
    rules: Type.Array(
      Type.Object({
        cidr: Type.String(),
        label: Type.Optional(Type.String()),
        createdAt: Type.Optional(Type.String({ description: "Milliseconds since 1970 in digits." })),
      }),
    ),
    publicKey: Type.Optional(Type.String()),
    enabled: Type.Optional(Type.Boolean({ description: "Only for the organization's allowlist." })),
    onEvaluationError: Type.Optional(Type.String()),
  },
  { $id: "IpAllowlist" },
);
export type IpAllowlist = Static<typeof IpAllowlist>;

/**
 * Checks a CIDR block and returns it in canonical form.
 *
 * @throws KeysteadError FIELD_INVALID naming `field`
 */
export function checkCidr(text: string, field: string): string {
  const cidr = parseCidr(text);
  if ("problem" in cidr) fail("FIELD_INVALID", { field, reason: cidr.problem });
  const shortest = MIN_IP_RULE_PREFIX[cidr.family];
  if (cidr.prefix < shortest) {
    const reason = `is too wide: an IPv${cidr.family} block needs a prefix of at least ${shortest}`;
    fail("FIELD_INVALID", { field, reason });
  }
  return formatCidr(cidr);
}
