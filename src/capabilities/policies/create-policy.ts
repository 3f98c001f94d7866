import { type Static, Type } from "typebox";
import { addPolicies } from "../../authority/rules/policies.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Label, Notes, OneOf, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_POLICY_LENGTH, MAX_SELECTORS } from "../../kernel/limits.ts";
import { expressionsOfSelectors, type Selector, selectorOperators } from "../../policy/selectors.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { Effect, newPolicy, PolicyParams, Warnings } from "./model.ts";
import { warningsAboutAll, warningsOfPolicies } from "./warnings.ts";

const Target = Type.String({ maxLength: MAX_POLICY_LENGTH });
/** The published schema marks no part of a selector as required, but an incomplete selector is rejected. */
const subjectAndOperator = {
  subject: Type.Optional(Type.String({ maxLength: 255 })),
  operator: Type.Optional(OneOf(selectorOperators)),
};
const SelectorV1 = Strict({ ...subjectAndOperator, target: Type.Optional(Target) });
const SelectorV2 = Strict({ ...subjectAndOperator, targets: Type.Optional(SomeOf(Target)) });
const fields = { policyName: Label, effect: Effect, notes: Type.Optional(Notes) };
const IntentV1 = Strict({ ...fields, selectors: SomeOf(SelectorV1, MAX_SELECTORS) });
const IntentV2 = Strict({ ...fields, selectors: SomeOf(SelectorV2, MAX_SELECTORS) });

export const createPolicy = activity({
  path: "create_policy",
  summary: "Allow or deny activities by condition, consensus and time.",
  version: 3,
  intent: PolicyParams,
  result: Type.Object({ policyId: Type.String(), warnings: Type.Optional(Warnings) }),
  versions: {
    2: {
      intent: IntentV2,
      upgrade: ({ selectors, ...rest }: Static<typeof IntentV2>) =>
        upgraded(
          rest,
          selectors.map(complete),
          (selector, target) => `parameters.selectors.${selector}.targets.${target}`,
        ),
    },
    1: {
      intent: IntentV1,
      upgrade: ({ selectors, ...rest }: Static<typeof IntentV1>) =>
        upgraded(
          rest,
          selectors.map(({ target, ...selector }, index) =>
            complete({ ...selector, targets: [present(target, index, "target")] }, index),
          ),
          (selector) => `parameters.selectors.${selector}.target`,
        ),
    },
  },
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "CREATE" }),
  check: (policy) => validatePolicy(policy),
  prepare: ({ intent, budget }) => warningsAboutAll([intent], budget),
  change: ({ view, id, intent, now }) =>
    changesOn(view, (draft) =>
      addPolicies(draft, [newPolicy(intent, id("policy"))], now, () => "parameters.policyName"),
    ),
  answer: ({ id, prepared }) => ({ policyId: id("policy"), ...warningsOfPolicies([id("policy")], prepared) }),
});

const upgraded = (
  { policyName, effect, notes = "" }: Omit<Static<typeof IntentV2>, "selectors">,
  selectors: readonly Selector[],
  targetField: (selector: number, target: number) => string,
): PolicyParams => ({ policyName, effect, notes, ...expressionsOfSelectors(selectors, targetField) });

const complete = ({ subject, operator, targets }: Static<typeof SelectorV2>, index: number): Selector => ({
  subject: present(subject, index, "subject"),
  operator: present(operator, index, "operator"),
  targets: present(targets, index, "targets"),
});

const present = <T>(value: T | undefined, index: number, name: string): T =>
  value ?? fail("FIELD_MISSING", { field: `parameters.selectors.${index}.${name}` });
