import { type Static, Type } from "typebox";
import { putAllowlist } from "../../authority/rules/ip-allowlists.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { checkCidr, OnEvaluationError, PublicKey, Rules } from "./model.ts";

const Intent = Strict({
  publicKey: Type.Optional(PublicKey),
  enabled: Type.Optional(Type.Boolean()),
  rules: Type.Optional(Rules),
  onEvaluationError: Type.Optional(OnEvaluationError),
});

/** One rule per block. If several rules have the same block, the first one counts. */
function checkRules(rules: NonNullable<Static<typeof Intent>["rules"]>): { cidr: string; label?: string }[] {
  const byBlock = new Map<string, { cidr: string; label?: string }>();
  for (const [index, rule] of rules.entries()) {
    const cidr = checkCidr(rule.cidr, `parameters.rules.${index}.cidr`);
    if (!byBlock.has(cidr)) byBlock.set(cidr, { ...rule, cidr });
  }
  return [...byBlock.values()];
}

export const setIpAllowlist = activity({
  path: "set_ip_allowlist",
  summary:
    "Set from which addresses the organization, or one of its API keys, may be used. This replaces the whole list, which is in force if `enabled` is true.",
  only: "parents",
  intent: Intent,
  result: Type.Object({}),
  subject: () => ({ governedBy: "policies", resource: "CONFIG", action: "UPDATE" }),
  check({ publicKey, enabled, rules = [] }) {
    if (publicKey !== undefined && enabled === false) {
      const reason = "must be absent for an API key, whose allowlist is always in force; remove the allowlist instead";
      fail("FIELD_INVALID", { field: "parameters.enabled", reason });
    }
    checkRules(rules);
  },
  change({ view, intent, now }) {
    const { publicKey, enabled = publicKey !== undefined, rules = [], onEvaluationError = "DENY" } = intent;
    const content = { enabled, onEvaluationError, rules: checkRules(rules) };
    return changesOn(view, (draft) => putAllowlist(draft, publicKey, content, now));
  },
  answer: () => ({}),
});
