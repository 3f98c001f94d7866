import { inWords } from "../kernel/in-words.ts";
import { consensusFacts, type Voter } from "./approvals.ts";
import type { Budget } from "./budget.ts";
import type { ExpressionCache } from "./cache.ts";
import type { FactsOf, Program } from "./compile.ts";
import type { MissingApprovals } from "./consensus.ts";
import type { DecisionRequest } from "./decision.ts";
import { PolicyError } from "./errors.ts";
import type { PolicyEvaluation } from "./evaluation.ts";
import { clip } from "./lexer.ts";
import type { Policy } from "./policy.ts";
import { print } from "./print.ts";
import type { Scope } from "./schema.ts";
import { sizeOf, type TypedNode } from "./typed-tree.ts";
import type { Type } from "./types.ts";

/** Why an expression is not true: a clause that is false, or that fails with an error. */
interface ClauseFinding {
  scope: Scope;
  clause: string;
  result: "false" | "error";
  /** The value that made it false, or the error; '' if the clause itself is explanation enough. */
  detail: string;
}

const MAX_FINDINGS = 8;
/** The cost, in steps, of compiling a part of an expression separately, and printing it. */
const STEPS_PER_PART = 16;
/** The cost, in steps, of describing a finding. */
const STEPS_PER_FINDING = 200;

/**
 * Explains in one sentence or more why a policy had its outcome: which clauses were false or could not be evaluated, and which approvals
 * are missing. It evaluates the expressions again, clause by clause, so use it for denials and simulations only. The text quotes facts of
 * the activity (addresses, amounts), so show it only to those who may see the activity.
 *
 * @throws OutOfBudget
 */
export function explainPolicy(
  policy: Policy,
  evaluation: PolicyEvaluation,
  request: DecisionRequest,
  cache: ExpressionCache,
  budget: Budget,
): string {
  const facts: FactsOf = {
    consensus: consensusFacts(request.approvals),
    condition: request.facts,
    time: { time: { now: request.nowMs } },
  };
  const sought = evaluation.outcome === "OUTCOME_ERROR" ? "error" : "false";
  const findings = (["time", "condition", "consensus"] as const).flatMap((scope) =>
    evaluation.values[scope] === true || (evaluation.values.time === false && scope !== "time")
      ? []
      : findingsOf(policy[scope] ?? "", { scope, facts: facts[scope], sought, budget }, cache),
  );
  return sentences(evaluation, findings, request.voters);
}

function sentences(evaluation: PolicyEvaluation, findings: ClauseFinding[], voters: readonly Voter[]): string {
  switch (evaluation.outcome) {
    case "OUTCOME_ALLOW":
      return "The policy allows the activity.";
    case "OUTCOME_DENY_EXPLICIT":
      return "The policy denies the activity: its condition and its consensus hold.";
    case "OUTCOME_TIME_INACTIVE":
      return `The policy is not active now. ${listed(findings)}`.trim();
    case "OUTCOME_ERROR":
      return `The policy cannot be evaluated. ${listed(findings)} ${weightOfError(evaluation)}`;
    default:
      return explainShortfall(evaluation, findings, voters);
  }
}

function weightOfError({ effect, error }: PolicyEvaluation): string {
  if (effect !== "EFFECT_DENY") return "So it does not allow anything.";
  if (!error?.absentRoots) return "As it is a denying policy, it denies.";
  return `It is about activities that have ${inWords(error.absentRoots)}, so it does not deny this one.`;
}

function explainShortfall(evaluation: PolicyEvaluation, findings: ClauseFinding[], voters: readonly Voter[]): string {
  if (evaluation.values.condition === false) {
    const conditions = findings.filter(({ scope }) => scope === "condition");
    return `The condition does not hold. ${listed(conditions)}`;
  }
  const clauses = listed(findings);
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

function listed(findings: ClauseFinding[]): string {
  return findings
    .slice(0, MAX_FINDINGS)
    .map(({ clause, result, detail }) => {
      const says = result === "false" ? "is false" : "cannot be evaluated";
      return detail === "" ? `\`${clause}\` ${says}.` : `\`${clause}\` ${says}: ${detail}.`;
    })
    .join(" ");
}

/** What to look for in an expression. */
interface Question {
  scope: Scope;
  facts: FactsOf[Scope];
  sought: ClauseFinding["result"];
  budget: Budget;
}

/** The state of searching one expression. */
interface Inquiry extends Question {
  program: Program;
  findings: ClauseFinding[];
}

function findingsOf(source: string, question: Question, cache: ExpressionCache): ClauseFinding[] {
  const { scope, budget } = question;
  const program = cache.program(source, scope, budget);
  if (program instanceof PolicyError) {
    return [{ scope, clause: shorten(source), result: "error", detail: program.description }];
  }
  const inquiry: Inquiry = { ...question, program: program as Program, findings: [] };
  inquire(inquiry, program.tree, false);
  return inquiry.findings;
}

/**
 * Descends through `&&`, `||` and `!` to the clauses that have the `unwanted` value or cannot be evaluated, until the maximum number of
 * findings is reached.
 */
function inquire(inquiry: Inquiry, node: TypedNode, unwanted: boolean): void {
  if (inquiry.findings.length >= MAX_FINDINGS) return;
  if (node.kind === "and" || node.kind === "or") {
    for (const term of node.terms) inquire(inquiry, term, unwanted);
  } else if (node.kind === "not") {
    inquire(inquiry, node.operand, !unwanted);
  } else {
    const value = valueOfPart(inquiry, node);
    const { scope, sought: result, findings } = inquiry;
    if (result !== (value instanceof PolicyError ? "error" : "false")) return;
    if (!(value instanceof PolicyError) && value !== unwanted) return;
    inquiry.budget.spend(STEPS_PER_FINDING);
    const clause = shorten(unwanted ? `!(${print(node.source)})` : print(node.source));
    const detail = value instanceof PolicyError ? value.message : actual(inquiry, node);
    findings.push({ scope, clause, result, detail });
  }
}

/** The values of a clause's compared sides, except literals. */
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

function valueOfPart({ program, facts, budget }: Inquiry, node: TypedNode): unknown {
  budget.spend(STEPS_PER_PART * sizeOf(node));
  try {
    return program.part(node)(facts, budget);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}

const shorten = (text: string): string => (text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text);
