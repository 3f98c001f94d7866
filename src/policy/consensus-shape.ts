import { type Approval, consensusFacts } from "./approvals.ts";
import type { Budget } from "./budget.ts";
import type { Part, Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { ConsensusFacts, CredentialFacts, UserFacts } from "./facts.ts";
import { type TypedNode, typedPartsOf, withParts } from "./typed-tree.ts";

/**
 * What the value of a consensus depends on. Most consist of tests on single approvers or credentials: `any`, `all` and `count`. Such an
 * expression depends only on how many elements pass each test, and can be evaluated on these sums alone.
 */

/** A test that the expression applies to each approver or each credential. */
interface Test {
  keyword: "approvers" | "credentials";
  /** How the results are used: whether the test holds for any or all elements, or for how many. */
  measure: "any" | "all" | "count";
  holds(element: UserFacts | CredentialFacts, budget: Budget): boolean;
}

/** For each test, how many elements pass; for tests that must hold for all, how many fail. */
export type Sums = readonly number[];

export interface Shape {
  /** Undefined if the expression compares approvers with one another, selects them by position, or the like. */
  tests: readonly Test[] | undefined;
  usesCredentials: boolean;
  /** The number of equal additional approvals after which further ones change nothing; undefined if two counts are compared with each other. */
  saturation: number | undefined;
  /** Whether the consensus holds with these sums. Only for an expression made of tests. */
  holdsWith(sums: Sums, budget: Budget): boolean;
}

/** The cost, in steps, of applying a test, in addition to evaluating it. */
const STEPS_PER_TEST = 4;
const NOBODY = consensusFacts([]);
const shapes = new WeakMap<Program<"consensus">, Shape>();

export function shapeOf(program: Program<"consensus">): Shape {
  const known = shapes.get(program);
  if (known !== undefined) return known;
  const shape = surveyed(program);
  shapes.set(program, shape);
  return shape;
}

/** The amounts by which an approval increases the sums; undefined if a test fails with an error on it. */
export function addedBy({ user, credential }: Approval, tests: readonly Test[], budget: Budget): Sums | undefined {
  budget.spend(STEPS_PER_TEST * tests.length);
  return unlessErring(() =>
    tests.map((test) => {
      const element = test.keyword === "approvers" ? user : credential;
      return element !== undefined && isCounted(test, element, budget) ? 1 : 0;
    }),
  );
}

/** The sums over all approvers and credentials; undefined if a test fails with an error. */
export function sumsOf(facts: ConsensusFacts, tests: readonly Test[], budget: Budget): Sums | undefined {
  budget.spend(STEPS_PER_TEST * tests.length * (1 + facts.approvers.length));
  return unlessErring(() =>
    tests.map((test) => {
      let sum = 0;
      for (const element of facts[test.keyword]) if (isCounted(test, element, budget)) sum++;
      return sum;
    }),
  );
}

const isCounted = (test: Test, element: UserFacts | CredentialFacts, budget: Budget): boolean =>
  test.holds(element, budget) !== (test.measure === "all");

function unlessErring(sum: () => Sums): Sums | undefined {
  try {
    return sum();
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}

/** The state of a survey: its findings so far, and the first slot that no quantifier of the expression uses. */
interface Survey {
  program: Program<"consensus">;
  tests: Test[];
  isMadeOfTests: boolean;
  usesCredentials: boolean;
  saturation: number | undefined;
  firstSlot: number;
}

function surveyed(program: Program<"consensus">): Shape {
  const { tree } = program;
  const survey: Survey = {
    program,
    tests: [],
    isMadeOfTests: true,
    usesCredentials: false,
    saturation: 1,
    firstSlot: lastSlotIn(tree) + 1,
  };
  const reduced = reduce(tree, undefined, survey);
  const { tests, isMadeOfTests, usesCredentials, saturation } = survey;
  const evaluate = isMadeOfTests ? program.part(reduced) : undefined;
  return {
    tests: isMadeOfTests ? tests : undefined,
    usesCredentials,
    saturation,
    holdsWith: (sums, budget) => evaluate !== undefined && isTrue(evaluate, slotsOf(sums, survey), budget),
  };
}

function isTrue(evaluate: Part<"consensus">, slots: unknown[], budget: Budget): boolean {
  try {
    return evaluate(NOBODY, budget, slots) === true;
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
}

function slotsOf(sums: Sums, { tests, firstSlot }: Survey): unknown[] {
  const slots: unknown[] = new Array(firstSlot).fill(undefined);
  for (const [index, { measure }] of tests.entries()) {
    const sum = sums[index] as number;
    slots.push(measure === "count" ? BigInt(sum) : measure === "any" ? sum > 0 : sum === 0);
  }
  return slots;
}

const lastSlotIn = (node: TypedNode): number =>
  Math.max("predicate" in node ? node.slot : -1, ...typedPartsOf(node).map(lastSlotIn));

/** The expression with each test replaced by a variable. */
function reduce(node: TypedNode, parent: TypedNode | undefined, survey: Survey): TypedNode {
  if (node.kind === "keyword") {
    if (node.name === "credentials") survey.usesCredentials = true;
    survey.isMadeOfTests = false;
    return node;
  }
  if (node.kind === "count") surveyCount(parent, survey);
  const test = testOf(node, survey.program);
  if (test === undefined) return withParts(node, (part) => reduce(part, node, survey));
  if (test.keyword === "credentials") survey.usesCredentials = true;
  const slot = survey.firstSlot + survey.tests.length;
  survey.tests.push(test);
  return { kind: "variable", type: node.type, source: node.source, slot };
}

/** Recognizes `approvers.any(u, …)`, `.all(u, …)`, `.filter(u, …).count()` and `.count()`, and the same for `credentials`. */
function testOf(node: TypedNode, program: Program<"consensus">): Test | undefined {
  if (node.kind === "any" || node.kind === "all") return putToEach(node, node.kind, program);
  if (node.kind !== "count") return undefined;
  const { object } = node;
  if (object.kind === "filter") return putToEach(object, "count", program);
  return object.kind === "keyword" ? { keyword: keywordOf(object), measure: "count", holds: () => true } : undefined;
}

function putToEach(
  { object, predicate, slot }: TypedNode & { kind: "any" | "all" | "filter" },
  measure: Test["measure"],
  program: Program<"consensus">,
): Test | undefined {
  // Inside another quantifier the test may also use that quantifier's element.
  if (object.kind !== "keyword" || slot > 0 || mentionsKeyword(predicate)) return undefined;
  const test = program.part(predicate);
  return { keyword: keywordOf(object), measure, holds: (element, budget) => test(NOBODY, budget, [element]) === true };
}

const keywordOf = ({ name }: TypedNode & { kind: "keyword" }) => name as Test["keyword"];

function mentionsKeyword(node: TypedNode): boolean {
  return node.kind === "keyword" || typedPartsOf(node).some(mentionsKeyword);
}

/** If a count is compared with a literal n, the expression does not distinguish values from n + 1 on. */
function surveyCount(comparison: TypedNode | undefined, survey: Survey): void {
  if (comparison === undefined) return;
  const literal =
    comparison.kind === "compare"
      ? [comparison.left, comparison.right].find((side) => side.kind === "constant")
      : undefined;
  if (literal?.kind !== "constant" || typeof literal.value !== "bigint") survey.saturation = undefined;
  else if (survey.saturation !== undefined && literal.value >= survey.saturation) {
    survey.saturation = Number(literal.value < 1000n ? literal.value : 1000n) + 1;
  }
}
