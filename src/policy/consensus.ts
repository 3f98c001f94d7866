import { MAX_CONSENSUS_TRIALS, MAX_POLICY_STEPS } from "../kernel/limits.ts";
import type { Meter, Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { ConsensusFacts, CredentialFacts, UserFacts } from "./facts.ts";
import { type TypedNode, typedPartsOf } from "./typed-tree.ts";

/** An approval that counts. */
export interface Approval {
  user: UserFacts;
  /** What it was stamped with; absent for an approval that is only imagined. */
  credential?: CredentialFacts | undefined;
}

/** A user of the organization who might approve, with the credentials that they could approve with. */
export interface Voter extends UserFacts {
  credentials: readonly CredentialFacts[];
}

/** `count` further approvals by any of these users. */
export interface MissingApprovals {
  count: number;
  anyOf: string[];
}

/** What would complete a consensus: any one of `ways`, each of which needs all of its parts. */
export type ConsensusOutlook =
  | { reachable: true; ways: MissingApprovals[][] }
  /** `exhausted`: not every set of approvals could be tried. */
  | { reachable: false; exhausted: boolean };

interface Search {
  program: Program<"consensus">;
  meter: Meter;
  /** Steps that the search by size leaves to the other one. */
  reserve: number;
  trialsLeft: number;
  pivotId: string;
}

/** How many ways are told; one is enough to decide. */
const MAX_WAYS = 8;

/** The facts of a consensus: each approver once, each credential once, in the order of the approvals. */
export function consensusFacts(approvals: readonly Approval[]): ConsensusFacts {
  const approvers = new Map<string, UserFacts>();
  const credentials = new Map<string, CredentialFacts>();
  for (const { user, credential } of approvals) {
    if (!approvers.has(user.id)) approvers.set(user.id, user);
    if (credential !== undefined) credentials.set(credential.id, credential);
  }
  return { approvers: [...approvers.values()], credentials: [...credentials.values()] };
}

/**
 * Whether further approvals can make a consensus true in such a way that the approval of `pivotId` counts: without it the
 * same approvals would not do. The pivot is the submitter, or a user who asks whether their vote would matter; if they have
 * not approved yet, their approval is one of those that are missing.
 *
 * If the consensus holds as it is and the pivot counts, the one way has no parts.
 *
 * The answer "reachable" always rests on a set of approvals that was evaluated and holds. Users whom the expression cannot
 * tell apart are taken as one class, so that it is the classes that are searched, smallest sets first: complete up to
 * MAX_CONSENSUS_TRIALS evaluations. Beyond them one set is found by leaving out whoever is not needed, which finds a way in
 * any consensus without negation, though not always one in which the pivot counts. See docs/adr/0101.
 */
export function consensusOutlook(
  program: Program<"consensus">,
  approvals: readonly Approval[],
  voters: readonly Voter[],
  pivotId: string,
  meter: Meter,
): ConsensusOutlook {
  const search = { program, meter, reserve: meter.left / 2, trialsLeft: MAX_CONSENSUS_TRIALS, pivotId };
  const shape = shapeOf(program);
  let exhausted = meter.left <= 0;
  for (const { base, missing } of basesOf(shape, approvals, voters, pivotId)) {
    if (counts(search, base)) return { reachable: true, ways: [missing] };
    if (isInvisible(shape, base, pivotId)) continue;
    const present = new Set(base.map(({ user }) => user.id));
    const classes = classesOf(
      shape,
      voters.filter(({ id }) => !present.has(id)),
    );
    const found = trySmallestFirst(search, shape, base, classes) ?? tryLeavingOut(search, base, classes);
    if (found === "exhausted") exhausted = true;
    else if (found.length > 0) return { reachable: true, ways: found.map((way) => [...missing, ...way]) };
  }
  return { reachable: false, exhausted };
}

/** The approvals there are, with the pivot's among them. */
function basesOf(
  shape: Shape,
  approvals: readonly Approval[],
  voters: readonly Voter[],
  pivotId: string,
): { base: Approval[]; missing: MissingApprovals[] }[] {
  if (approvals.some(({ user }) => user.id === pivotId)) return [{ base: [...approvals], missing: [] }];
  const pivot = voters.find(({ id }) => id === pivotId);
  if (pivot === undefined) return [];
  const missing = [{ count: 1, anyOf: [pivotId] }];
  return optionsOf(shape, pivot).map(({ approval }) => ({ base: [...approvals, approval], missing }));
}

// What the expression looks at.

/** A test that the expression puts to each approver or each credential. */
interface Test {
  keyword: "approvers" | "credentials";
  /** Adding someone for whom the test comes out so changes nothing. */
  idle: boolean | "never";
  holds(element: UserFacts | CredentialFacts): boolean;
}

interface Shape {
  /** Undefined where approvers are compared with one another, picked by position or the like: then each is their own class. */
  tests: Test[] | undefined;
  usesCredentials: boolean;
  /** Beyond so many more of one class nothing changes; undefined where two counts are compared with each other. */
  saturation: number | undefined;
}

const shapes = new WeakMap<Program<"consensus">, Shape>();

function shapeOf(program: Program<"consensus">): Shape {
  const known = shapes.get(program);
  if (known !== undefined) return known;
  const shape: Shape = { tests: [], usesCredentials: false, saturation: 1 };
  survey(program.tree, undefined, program, shape);
  shapes.set(program, shape);
  return shape;
}

function survey(node: TypedNode, parent: TypedNode | undefined, program: Program<"consensus">, shape: Shape): void {
  if (node.kind === "keyword") {
    if (node.name === "credentials") shape.usesCredentials = true;
    shape.tests = undefined;
    return;
  }
  if (node.kind === "count") surveyCount(parent, shape);
  const test = testOf(node, parent, program);
  if (test !== undefined) {
    shape.tests?.push(test);
    if (test.keyword === "credentials") shape.usesCredentials = true;
    return;
  }
  for (const part of typedPartsOf(node)) survey(part, node, program, shape);
}

/** `approvers.any(u, …)`, `.all(u, …)`, `.filter(u, …).count()` and `.count()`, and the same of `credentials`. */
function testOf(node: TypedNode, parent: TypedNode | undefined, program: Program<"consensus">): Test | undefined {
  if (node.kind !== "any" && node.kind !== "all" && node.kind !== "filter" && node.kind !== "count") return undefined;
  if (node.object.kind !== "keyword") return undefined;
  const keyword = node.object.name as Test["keyword"];
  if (node.kind === "count") return { keyword, idle: "never", holds: () => true };
  if (node.kind === "filter" && parent?.kind !== "count") return undefined;
  if (mentionsKeyword(node.predicate)) return undefined;
  const predicate = program.part(node.predicate);
  const nobody = consensusFacts([]);
  return { keyword, idle: node.kind === "all", holds: (element) => predicate(nobody, element) === true };
}

function mentionsKeyword(node: TypedNode): boolean {
  return node.kind === "keyword" || typedPartsOf(node).some(mentionsKeyword);
}

/** A count that is compared with a literal n is the same to the expression from n + 1 on. */
function surveyCount(comparison: TypedNode | undefined, shape: Shape): void {
  if (comparison === undefined) return;
  const literal =
    comparison.kind === "compare"
      ? [comparison.left, comparison.right].find((side) => side.kind === "constant")
      : undefined;
  if (literal?.kind !== "constant" || typeof literal.value !== "bigint") shape.saturation = undefined;
  else if (shape.saturation !== undefined && literal.value >= shape.saturation) {
    shape.saturation = Number(literal.value < 1000n ? literal.value : 1000n) + 1;
  }
}

// Who is alike.

/** One way in which a user could approve, and what the tests say of it; undefined where the expression is not made of tests. */
interface Option {
  approval: Approval;
  results: boolean[] | undefined;
}

/** Users with the same options. `options[i].results` are the same for each member's i-th option. */
interface VoterClass {
  members: Option[][];
}

/** A user approves with one credential. One on which a test ends in an error would make the whole consensus an error. */
function optionsOf(shape: Shape, voter: Voter): Option[] {
  const approvals: Approval[] = shape.usesCredentials
    ? voter.credentials.map((credential) => ({ user: voter, credential }))
    : [{ user: voter }];
  return approvals.flatMap((approval): Option[] => {
    if (shape.tests === undefined) return [{ approval, results: undefined }];
    const results = resultsOf(shape.tests, approval);
    return results === undefined ? [] : [{ approval, results }];
  });
}

function resultsOf(tests: Test[], approval: Approval): boolean[] | undefined {
  try {
    return tests.map((test) => {
      const element = test.keyword === "approvers" ? approval.user : approval.credential;
      return element === undefined ? test.idle === true : test.holds(element);
    });
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}

const isIdle = (tests: Test[], results: boolean[]): boolean =>
  tests.every((test, index) => test.idle === results[index]);

/** Whether the expression is the same with and without the pivot's approval, whoever else approves. */
function isInvisible(shape: Shape, base: Approval[], pivotId: string): boolean {
  const { tests } = shape;
  if (tests === undefined) return false;
  return base
    .filter(({ user }) => user.id === pivotId)
    .every((approval) => {
      const results = resultsOf(tests, approval);
      return results !== undefined && isIdle(tests, results);
    });
}

function classesOf(shape: Shape, voters: readonly Voter[]): VoterClass[] {
  const classes = new Map<string, VoterClass>();
  for (const voter of voters) {
    const distinct = new Map<string, Option>();
    for (const option of optionsOf(shape, voter)) {
      const { results } = option;
      if (results !== undefined && isIdle(shape.tests ?? [], results)) continue;
      const key = results?.map(Number).join("") ?? `${voter.id} ${option.approval.credential?.id}`;
      if (!distinct.has(key)) distinct.set(key, option);
    }
    if (distinct.size === 0) continue;
    const keys = [...distinct.keys()].sort();
    const key = keys.join(" ");
    const known = classes.get(key) ?? { members: [] };
    known.members.push(keys.map((option) => distinct.get(option) as Option));
    classes.set(key, known);
  }
  return [...classes.values()];
}

// Which approvals would do.

/** So many members of a class, with one of their options. Choices of one class stand side by side. */
interface Choice {
  voterClass: VoterClass;
  option: number;
  count: number;
}

/** Sets of further approvals by size. Undefined when there were more than could be tried. */
function trySmallestFirst(
  search: Search,
  shape: Shape,
  base: Approval[],
  classes: VoterClass[],
): MissingApprovals[][] | undefined {
  const choices = classes.flatMap((voterClass) =>
    (voterClass.members[0] as Option[]).map((_, option) => ({ voterClass, option, count: 0 })),
  );
  const saturation = shape.saturation ?? Number.POSITIVE_INFINITY;
  const supply = { choices, saturation, capacities: capacitiesOf(choices, saturation) };
  const most = supply.capacities[0] ?? 0;
  for (let total = 1; total <= most; total++) {
    const ways: MissingApprovals[][] = [];
    for (const chosen of distributions(supply, total)) {
      if (search.trialsLeft <= 0 || search.meter.left <= search.reserve) return ways.length > 0 ? ways : undefined;
      if (counts(search, [...base, ...approvalsOf(chosen)])) ways.push(missingOf(chosen));
      if (ways.length === MAX_WAYS) break;
    }
    if (ways.length > 0) return ways;
  }
  return search.meter.left <= search.reserve ? undefined : [];
}

/** For each choice, how many approvals it and those after it have to give, at most `saturation` of each. */
function capacitiesOf(choices: Choice[], saturation: number): number[] {
  const capacities: number[] = [];
  let ofClass = 0;
  let ofLater = 0;
  for (let index = choices.length - 1; index >= 0; index--) {
    const { voterClass } = choices[index] as Choice;
    if (choices[index + 1]?.voterClass !== voterClass) {
      ofLater += ofClass;
      ofClass = 0;
    }
    ofClass = Math.min(voterClass.members.length, ofClass + saturation);
    capacities[index] = ofClass + ofLater;
  }
  return capacities;
}

/** Choices with the bounds of each, for `distributions`. */
interface Supply {
  choices: Choice[];
  saturation: number;
  capacities: number[];
}

/** Every way to take `total` approvals from the choices beginning with `start`, no member of a class twice. */
function* distributions(supply: Supply, total: number, start = 0, before?: Choice, room = 0): Generator<Choice[]> {
  if (total === 0) yield [];
  for (let index = start; total > 0 && total <= (supply.capacities[index] ?? 0); index++) {
    const choice = supply.choices[index] as Choice;
    const { voterClass } = choice;
    const roomHere = voterClass === before?.voterClass ? room : voterClass.members.length;
    for (let count = Math.min(total, supply.saturation, roomHere); count > 0; count--) {
      const chosen = { ...choice, count };
      for (const rest of distributions(supply, total - count, index + 1, chosen, roomHere - count)) {
        yield [chosen, ...rest];
      }
    }
  }
}

function approvalsOf(chosen: Choice[]): Approval[] {
  const taken = new Map<VoterClass, number>();
  return chosen.flatMap(({ voterClass, option, count }) => {
    const from = taken.get(voterClass) ?? 0;
    taken.set(voterClass, from + count);
    return voterClass.members.slice(from, from + count).map((options) => (options[option] as Option).approval);
  });
}

function missingOf(chosen: Choice[]): MissingApprovals[] {
  return chosen.map(({ voterClass, option, count }) => ({
    count,
    anyOf: voterClass.members.map((options) => (options[option] as Option).approval.user.id),
  }));
}

/** Starts with everyone and leaves out, class by class and then one by one, whoever is not needed; in either order. */
function tryLeavingOut(search: Search, base: Approval[], classes: VoterClass[]): MissingApprovals[][] | "exhausted" {
  const groups = classes.map(({ members }) => members.map((options) => (options[0] as Option).approval));
  for (const order of [groups, [...groups].reverse()]) {
    let needed = order.flat();
    if (!holds(search, [...base, ...needed])) break;
    for (const leavable of [
      ...order,
      ...order.filter(({ length }) => length > 1).flatMap((group) => group.map((one) => [one])),
    ]) {
      const without = needed.filter((approval) => !leavable.includes(approval));
      if (without.length < needed.length && holds(search, [...base, ...without])) needed = without;
    }
    if (counts(search, [...base, ...needed])) return [needed.map(({ user }) => ({ count: 1, anyOf: [user.id] }))];
  }
  return "exhausted";
}

/** Whether the consensus holds with the approvals, and would not without the pivot's. */
function counts(search: Search, approvals: Approval[]): boolean {
  if (!holds(search, approvals)) return false;
  return !holds(
    search,
    approvals.filter(({ user }) => user.id !== search.pivotId),
  );
}

function holds(search: Search, approvals: Approval[]): boolean {
  search.trialsLeft--;
  search.meter.left -= approvals.length;
  if (search.meter.left <= 0) return false;
  const allowed = Math.min(search.meter.left, MAX_POLICY_STEPS);
  const meter = { left: allowed };
  try {
    return search.program.evaluate(consensusFacts(approvals), meter);
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  } finally {
    search.meter.left -= allowed - Math.max(meter.left, 0);
  }
}
