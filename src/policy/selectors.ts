import { fail } from "../kernel/errors.ts";

/**
 * Selectors, the format of policies before the policy language existed: `subject operator targets`, all of which must hold. They are
 * converted to an equivalent condition and consensus (docs/adr/0040-policy-selectors.md).
 */

/** How a subject's value is compared. */
type Kind = "string" | "integer" | "list";

/** A subject of selectors, with its expression and the scope to which that belongs. */
interface SubjectForm {
  about: "activity" | "approver" | "credential" | "approvals";
  expression: string;
  kind: Kind;
}

const of = (about: SubjectForm["about"], kind: Kind, ...paths: string[]): [string, SubjectForm][] =>
  paths.map((path) => [path, { about, expression: path, kind }]);

const subjectForms: ReadonlyMap<string, SubjectForm> = new Map<string, SubjectForm>([
  ...of("approver", "string", "user.id", "user.email", "user.alias"),
  ...of("approver", "list", "user.tags"),
  ...of("credential", "string", "credential.id", "credential.user_id", "credential.type", "credential.credential_id"),
  ...of("credential", "string", "credential.public_key"),
  ["approvers.count", { about: "approvals", expression: "approvers.count()", kind: "integer" }],
  ...of("activity", "string", "activity.type", "activity.kind", "activity.resource", "activity.action"),
  ...of("activity", "string", "private_key.id", "private_key.label"),
  ...of("activity", "list", "private_key.tags"),
  ...of("activity", "string", "wallet.id", "wallet.label", "wallet_account.address"),
  ...of("activity", "string", "eth.tx.from", "eth.tx.to", "eth.tx.data", "eth.tx.type"),
  ...of("activity", "string", "eth.tx.function_name", "eth.tx.function_signature"),
  ...of("activity", "integer", "eth.tx.value", "eth.tx.gas", "eth.tx.gas_price", "eth.tx.chain_id", "eth.tx.nonce"),
  ...of("activity", "integer", "eth.tx.max_fee_per_gas", "eth.tx.max_priority_fee_per_gas"),
  ...of("activity", "string", "eth.eip_712.primary_type", "eth.eip_712.domain.verifying_contract"),
  ...of("activity", "list", "solana.tx.account_keys", "solana.tx.program_keys"),
]);

/** Every subject, in the order in which errors list them. */
export const selectorSubjects: readonly string[] = [...subjectForms.keys()];

interface OperatorForm {
  kinds: readonly Kind[];
  takesOne: boolean;
  /** `targets` are literals. */
  write: (subject: string, targets: readonly string[]) => string;
}

const compare = (sign: string, ...kinds: Kind[]): OperatorForm => ({
  kinds,
  takesOne: true,
  write: (subject, [target]) => `${subject} ${sign} ${target}`,
});

const listed = (targets: readonly string[]): string => `[${targets.join(", ")}]`;

const operatorForms = {
  OPERATOR_EQUAL: compare("==", "string", "integer"),
  OPERATOR_MORE_THAN: compare(">", "integer"),
  OPERATOR_MORE_THAN_OR_EQUAL: compare(">=", "integer"),
  OPERATOR_LESS_THAN: compare("<", "integer"),
  OPERATOR_LESS_THAN_OR_EQUAL: compare("<=", "integer"),
  OPERATOR_CONTAINS: {
    kinds: ["list"],
    takesOne: true,
    write: (subject, [target]) => `${subject}.contains(${target})`,
  },
  OPERATOR_NOT_EQUAL: compare("!=", "string", "integer"),
  OPERATOR_IN: {
    kinds: ["string", "integer"],
    takesOne: false,
    write: (subject, targets) => `${subject} in ${listed(targets)}`,
  },
  OPERATOR_NOT_IN: {
    kinds: ["string", "integer"],
    takesOne: false,
    write: (subject, targets) => `!(${subject} in ${listed(targets)})`,
  },
  OPERATOR_CONTAINS_ONE: {
    kinds: ["list"],
    takesOne: false,
    write: (subject, targets) => `${listed(targets)}.any(target, target in ${subject})`,
  },
  OPERATOR_CONTAINS_ALL: {
    kinds: ["list"],
    takesOne: false,
    write: (subject, targets) => `${listed(targets)}.all(target, target in ${subject})`,
  },
} as const satisfies Record<string, OperatorForm>;

export type SelectorOperator = keyof typeof operatorForms;
export const selectorOperators = Object.keys(operatorForms) as SelectorOperator[];

export interface Selector {
  subject: string;
  operator: SelectorOperator;
  /** At least one. */
  targets: readonly string[];
}

/**
 * The condition and the consensus of a policy that applies if all selectors hold. All selectors on `user` must hold for the same approver,
 * and all on `credential` for the same credential. The expressions are not validated yet. `targetField` names a target of a selector in
 * errors.
 *
 * @throws KeysteadError FIELD_INVALID for an unknown subject, an operator that the subject does not support, or a target that cannot be
 *   written as a literal
 */
export function expressionsOfSelectors(
  selectors: readonly Selector[],
  targetField: (selector: number, target: number) => string,
): { condition?: string; consensus?: string } {
  const clauses = selectors.map((selector, index) => clauseOf(selector, index, (target) => targetField(index, target)));
  const about = (kind: SubjectForm["about"]): string =>
    clauses
      .filter((clause) => clause.about === kind)
      .map(({ text }) => text)
      .join(" && ");
  const [condition, approver, credential, approvals] = [
    about("activity"),
    about("approver"),
    about("credential"),
    about("approvals"),
  ];
  const consensus = [
    ...(approver === "" ? [] : [`approvers.any(user, ${approver})`]),
    ...(credential === "" ? [] : [`credentials.any(credential, ${credential})`]),
    ...(approvals === "" ? [] : [approvals]),
  ].join(" && ");
  return { ...(condition === "" ? {} : { condition }), ...(consensus === "" ? {} : { consensus }) };
}

function clauseOf(
  { subject, operator, targets }: Selector,
  index: number,
  fieldOf: (target: number) => string,
): { about: SubjectForm["about"]; text: string } {
  const field = (name: string) => `parameters.selectors.${index}.${name}`;
  const form = subjectForms.get(subject);
  if (!form) {
    const reason = `is not a known subject; the known ones are ${selectorSubjects.join(", ")}`;
    return fail("FIELD_INVALID", { field: field("subject"), reason });
  }
  const { kinds, takesOne, write }: OperatorForm = operatorForms[operator];
  if (!kinds.includes(form.kind)) {
    const fitting = selectorOperators.filter((each) =>
      (operatorForms[each].kinds as readonly Kind[]).includes(form.kind),
    );
    fail("FIELD_INVALID", {
      field: field("operator"),
      reason: `does not fit ${subject}; fitting are ${fitting.join(", ")}`,
    });
  }
  if (takesOne && targets.length !== 1) {
    fail("FIELD_INVALID", { field: field("targets"), reason: `must have exactly one entry for ${operator}` });
  }
  const literals = targets.map((target, position) => literalOf(target, form.kind, fieldOf(position)));
  return { about: form.about, text: write(form.expression, literals) };
}

/** The language's largest number has 78 digits. */
const INTEGER = /^-?[0-9]{1,78}$/;

/** Strings of the language have no escapes. Characters that they cannot contain are rejected, so that no target ends its literal early. */
function literalOf(target: string, kind: Kind, field: string): string {
  if (kind === "integer") {
    if (!INTEGER.test(target)) fail("FIELD_INVALID", { field, reason: "must be a whole number in digits" });
    return target;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here
  if (/['\u0000-\u001f\u007f]/.test(target)) {
    fail("FIELD_INVALID", { field, reason: "holds a single quote or a control character, which policies cannot say" });
  }
  return `'${target}'`;
}
