import type { ExpressionCache } from "./cache.ts";
import type { FactsOf, Program } from "./compile.ts";
import { consensusFacts, type MissingApprovals, type Voter } from "./consensus.ts";
import type { DecisionRequest, Policy, PolicyEvaluation } from "./decision.ts";
import { PolicyError } from "./errors.ts";
import { clip } from "./lexer.ts";
import { print } from "./print.ts";
import type { Scope } from "./schema.ts";
import type { TypedNode } from "./typed-tree.ts";
import type { Type } from "./types.ts";

/** Why an expression is not true: a clause that is false, or one that ends in an error. */
export interface ClauseFinding {
  scope: Scope;
  clause: string;
  result: "false" | "error";
  /** The value that made it false, or the error; '' where the clause says it all. */
  detail: string;
}

export interface PolicyExplanation {
  findings: ClauseFinding[];
  /** One sentence or more that a person can read. */
  text: string;
}

const MAX_FINDINGS = 8;

/**
 * Says why a policy came to its outcome: which clauses were false or could not be evaluated, and which approvals are
 * missing. Evaluates the expressions again, clause by clause, so it is meant for denials and simulations. The text quotes
 * facts of the activity (addresses, amounts): it is for those who may see the activity.
 */
export function explainPolicy(
  policy: Policy,
  evaluation: PolicyEvaluation,
  request: DecisionRequest,
  cache: ExpressionCache,
): PolicyExplanation {
  const facts: FactsOf = {
    consensus: consensusFacts(request.approvals),
    condition: request.facts,
    time: { time: { now: request.nowMs } },
  };
  const findings = (["time", "condition", "consensus"] as const).flatMap((scope) =>
    evaluation.values[scope] === true || (evaluation.values.time === false && scope !== "time")
      ? []
      : findingsOf(policy[scope] ?? "", scope, facts, cache),
  );
  return { findings, text: sentences(evaluation, findings, request.voters) };
}

function sentences(evaluation: PolicyEvaluation, findings: ClauseFinding[], voters: readonly Voter[]): string {
  switch (evaluation.outcome) {
    case "OUTCOME_ALLOW":
      return "The policy allows the activity.";
    case "OUTCOME_DENY_EXPLICIT":
      return "The policy denies the activity: its condition and its consensus hold.";
    case "OUTCOME_TIME_INACTIVE":
      return `The policy is not active now. ${listed(findings, "false")}`.trim();
    case "OUTCOME_ERROR": {
      const weight =
        evaluation.effect === "EFFECT_DENY"
          ? "As it is a denying policy, it denies."
          : "So it does not allow anything.";
      return `The policy cannot be evaluated. ${listed(findings, "error")} ${weight}`;
    }
    default:
      return explainShortfall(evaluation, findings, voters);
  }
}

function explainShortfall(evaluation: PolicyEvaluation, findings: ClauseFinding[], voters: readonly Voter[]): string {
  if (evaluation.values.condition === false) {
    const conditions = findings.filter(({ scope }) => scope === "condition");
    return `The condition does not hold. ${listed(conditions, "false")}`;
  }
  const clauses = listed(findings, "false");
  const { outlook } = evaluation;
  if (outlook?.reachable === true) {
    const ways = outlook.ways.map((way) => way.map((part) => approvalsNeeded(part, voters)).join(" and "));
    return `The consensus is not complete. ${clauses} Still needed: ${ways.join(", or ")}.`;
  }
  const limit = outlook?.exhausted === true ? " (not every combination of approvals could be tried)" : "";
  const more = outlook === undefined ? "" : ` Further approvals would not change that${limit}.`;
  return `The consensus does not hold. ${clauses}${more}`;
}

function approvalsNeeded({ count, anyOf }: MissingApprovals, voters: readonly Voter[]): string {
  const names = anyOf.slice(0, MAX_FINDINGS).map((id) => nameOf(id, voters));
  const others = anyOf.length > names.length ? ` and ${anyOf.length - names.length} others` : "";
  const approvals = count === 1 ? "1 approval" : `${count} approvals`;
  return anyOf.length === 1 ? `${approvals} by ${names[0]}` : `${approvals} by any of ${names.join(", ")}${others}`;
}

function nameOf(id: string, voters: readonly Voter[]): string {
  const alias = voters.find((voter) => voter.id === id)?.alias;
  return alias === undefined || alias === "" ? id : `${id} (${clip(alias)})`;
}

function listed(findings: ClauseFinding[], result: ClauseFinding["result"]): string {
  const named = findings.filter((finding) => finding.result === result).slice(0, MAX_FINDINGS);
  return named
    .map(({ clause, detail }) => {
      const says = result === "false" ? "is false" : "cannot be evaluated";
      return detail === "" ? `\`${clause}\` ${says}.` : `\`${clause}\` ${says}: ${detail}.`;
    })
    .join(" ");
}

/** One expression while its clauses are gone through. */
interface Inquiry {
  scope: Scope;
  program: Program;
  facts: FactsOf[Scope];
  findings: ClauseFinding[];
}

function findingsOf(source: string, scope: Scope, facts: FactsOf, cache: ExpressionCache): ClauseFinding[] {
  const program = cache.program(source, scope);
  if (program instanceof PolicyError) {
    return [{ scope, clause: shorten(source), result: "error", detail: program.description }];
  }
  const inquiry: Inquiry = { scope, program: program as Program, facts: facts[scope], findings: [] };
  inquire(inquiry, program.tree, false);
  return inquiry.findings;
}

/** Walks down `&&`, `||` and `!` to the clauses that are `unwanted`, or cannot be evaluated. */
function inquire(inquiry: Inquiry, node: TypedNode, unwanted: boolean): void {
  if (node.kind === "and" || node.kind === "or") {
    for (const term of node.terms) inquire(inquiry, term, unwanted);
  } else if (node.kind === "not") {
    inquire(inquiry, node.operand, !unwanted);
  } else {
    const { scope, findings } = inquiry;
    const clause = shorten(unwanted ? `!(${print(node.source)})` : print(node.source));
    const value = valueOfPart(inquiry, node);
    if (value instanceof PolicyError) findings.push({ scope, clause, result: "error", detail: value.message });
    else if (value === unwanted) findings.push({ scope, clause, result: "false", detail: actual(inquiry, node) });
  }
}

/** What the compared sides of a clause are, other than literals. */
function actual(inquiry: Inquiry, node: TypedNode): string {
  const compared = node.kind === "compare" ? [node.left, node.right] : node.kind === "contains" ? [node.element] : [];
  return compared
    .filter(({ kind }) => kind !== "constant")
    .flatMap((side) => {
      const shown = showValue(valueOfPart(inquiry, side), side.type);
      return shown === undefined ? [] : [`${shorten(print(side.source))} is ${shown}`];
    })
    .join(", ");
}

function showValue(value: unknown, type: Type): string | undefined {
  if (typeof value === "string") return `'${clip(value)}'`;
  if (typeof value === "bigint" && type.kind === "timestamp") return new Date(Number(value / 1_000_000n)).toISOString();
  return typeof value === "bigint" || typeof value === "boolean" ? String(value) : undefined;
}

function valueOfPart({ program, facts }: Inquiry, node: TypedNode): unknown {
  try {
    return program.part(node)(facts);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}

const shorten = (text: string): string => (text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text);
