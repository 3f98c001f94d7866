import { MAX_CONSENSUS_TRIALS } from "../kernel/limits.ts";
import { type Approval, consensusFacts, type Voter } from "./approvals.ts";
import { type Budget, OutOfBudget } from "./budget.ts";
import type { Program } from "./compile.ts";
import { addedBy, type Shape, type Sums, shapeOf, sumsOf } from "./consensus-shape.ts";
import { PolicyError } from "./errors.ts";

/** `count` further approvals by any of these users. */
export interface MissingApprovals {
  count: number;
  anyOf: string[];
}

/** How a consensus could be completed: by any one of `ways`, all of whose parts are needed. */
export type ConsensusOutlook =
  | { reachable: true; ways: MissingApprovals[][] }
  /** `exhausted`: there were too many sets of approvals to try all of them. */
  | { reachable: false; exhausted: boolean };

interface Search {
  program: Program<"consensus">;
  shape: Shape;
  budget: Budget;
  trials: { left: number };
  pivotId: string;
}

/** The maximum number of reported ways; one is enough to decide. */
const MAX_WAYS = 8;
/** The cost, in steps, of building the facts of an approval. */
const STEPS_PER_APPROVAL = 16;
/** The cost, in steps, of trying a set of approvals, in addition to evaluating it. */
const STEPS_PER_TRIAL = 32;

/**
 * Whether additional approvals can make a consensus true such that the approval of `pivotId` counts, that is, without it the same approvals
 * would not be enough. The pivot is the submitter, or a user who asks whether their vote would matter. If they have not approved yet, their
 * approval is among the missing ones.
 *
 * If the consensus already holds and the pivot counts, the only way has no parts.
 *
 * The answer "reachable" is always based on a set of approvals that was evaluated and holds. Users whom the expression cannot distinguish
 * form a class, and the search is over classes, smallest sets first. It is complete up to MAX_CONSENSUS_TRIALS evaluations. After that, one
 * set is found by removing unneeded users. This finds a way in any consensus without negation, but not always one in which the pivot
 * counts. See docs/adr/0101.
 *
 * @param budget the steps of all searches of a decision; if they are used up, the answer is that no way was found
 * @throws OutOfBudget if fewer steps remain than a decision may use
 */
export function consensusOutlook(
  program: Program<"consensus">,
  approvals: readonly Approval[],
  voters: readonly Voter[],
  pivotId: string,
  budget: Budget,
): ConsensusOutlook {
  const search = { program, shape: shapeOf(program), budget, trials: { left: MAX_CONSENSUS_TRIALS }, pivotId };
  try {
    return searched(search, approvals, voters);
  } catch (error) {
    if (!(error instanceof OutOfBudget) || budget.isCut) throw error;
    return { reachable: false, exhausted: true };
  }
}

function searched(search: Search, approvals: readonly Approval[], voters: readonly Voter[]): ConsensusOutlook {
  let exhausted = false;
  for (const { present, missing } of startsOf(search, approvals, voters)) {
    const base = baseOf(search, present);
    if (base === undefined || isInvisible(base)) continue;
    if (counts(search, base, [])) return { reachable: true, ways: [missing] };
    const ids = new Set(present.map(({ user }) => user.id));
    const classes = classesOf(
      search,
      voters.filter(({ id }) => !ids.has(id)),
    );
    const found = trySmallestFirst(search, base, classes) ?? tryLeavingOut(search, base, classes);
    if (found === "exhausted") exhausted = true;
    else if (found.length > 0) return { reachable: true, ways: found.map((way) => [...missing, ...way]) };
  }
  return { reachable: false, exhausted };
}

/** The existing approvals together with the pivot's. */
function startsOf(
  search: Search,
  approvals: readonly Approval[],
  voters: readonly Voter[],
): { present: readonly Approval[]; missing: MissingApprovals[] }[] {
  const { pivotId } = search;
  if (approvals.some(({ user }) => user.id === pivotId)) return [{ present: approvals, missing: [] }];
  const pivot = voters.find(({ id }) => id === pivotId);
  if (pivot === undefined) return [];
  const missing = [{ count: 1, anyOf: [pivotId] }];
  return optionsOf(search, pivot).map(({ approval }) => ({ present: [...approvals, approval], missing }));
}

/** Approvals that all tried sets have in common. */
interface Common {
  approvals: readonly Approval[];
  /** The sums of the tests over these approvals, if the consensus is made of tests. */
  sums: Sums | undefined;
}

/** The approvals with which every tried set begins, and the same without the pivot's. */
interface Base {
  all: Common;
  withoutPivot: Common;
}

/** Undefined if a test fails with an error on one of the approvals, because the whole consensus then fails, whoever else approves. */
function baseOf({ shape: { tests }, budget, pivotId }: Search, approvals: readonly Approval[]): Base | undefined {
  const others = approvals.filter(({ user }) => user.id !== pivotId);
  const [all, withoutPivot] = [approvals, others].map((each): Common | undefined => {
    if (tests === undefined) return { approvals: each, sums: undefined };
    budget.spend(STEPS_PER_APPROVAL * each.length);
    const sums = sumsOf(consensusFacts(each), tests, budget);
    return sums && { approvals: each, sums };
  });
  return all && withoutPivot && { all, withoutPivot };
}

/** Whether the expression cannot distinguish sets with and without the pivot's approval, whoever else approves. */
function isInvisible({ all, withoutPivot }: Base): boolean {
  return all.sums?.every((sum, index) => sum === withoutPivot.sums?.[index]) ?? false;
}

// Classes of equivalent users.

/** A way in which a user could approve, and the amounts that it adds to the sums; undefined if the expression is not made of tests. */
interface Option {
  approval: Approval;
  adds: Sums | undefined;
}

/** Users with the same options: the i-th option of every member has the same `adds`. */
interface VoterClass {
  members: Option[][];
}

/**
 * A user approves with one credential. Credentials on which a test fails with an error are left out, because they would make the whole
 * consensus fail.
 */
function optionsOf({ shape: { tests, usesCredentials }, budget }: Search, voter: Voter): Option[] {
  const approvals: Approval[] = usesCredentials
    ? voter.credentials.map((credential) => ({ user: voter, credential }))
    : [{ user: voter }];
  return approvals.flatMap((approval): Option[] => {
    if (tests === undefined) return [{ approval, adds: undefined }];
    const adds = addedBy(approval, tests, budget);
    return adds === undefined ? [] : [{ approval, adds }];
  });
}

function classesOf(search: Search, voters: readonly Voter[]): VoterClass[] {
  const classes = new Map<string, VoterClass>();
  for (const voter of voters) {
    search.budget.spend(STEPS_PER_APPROVAL);
    const distinct = new Map<string, Option>();
    for (const option of optionsOf(search, voter)) {
      const { adds } = option;
      // An approval that adds nothing changes nothing.
      if (adds?.every((sum) => sum === 0)) continue;
      const key = adds?.join("") ?? `${voter.id} ${option.approval.credential?.id}`;
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

// The search for sufficient approvals.

/** A number of members of a class, with one of their options. Choices of the same class are adjacent. */
interface Choice {
  voterClass: VoterClass;
  option: number;
  count: number;
}

/** Tries sets of additional approvals by size, using half of the steps. Undefined if there were too many to try. */
function trySmallestFirst(search: Search, base: Base, classes: VoterClass[]): MissingApprovals[][] | undefined {
  const choices = classes.flatMap((voterClass) =>
    (voterClass.members[0] as Option[]).map((_, option) => ({ voterClass, option, count: 0 })),
  );
  const saturation = search.shape.saturation ?? Number.POSITIVE_INFINITY;
  const supply = { choices, saturation, capacities: capacitiesOf(choices, saturation) };
  const most = supply.capacities[0] ?? 0;
  const half = { ...search, budget: search.budget.part(Math.floor(search.budget.left / 2)) };
  const ways: MissingApprovals[][] = [];
  try {
    for (let total = 1; total <= most; total++) {
      for (const chosen of distributions(supply, total)) {
        if (search.trials.left <= 0) return ways.length > 0 ? ways : undefined;
        if (counts(half, base, chosen)) ways.push(chosen.map(missingOf));
        if (ways.length === MAX_WAYS) break;
      }
      if (ways.length > 0) break;
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return ways.length > 0 ? ways : undefined;
  }
  return ways;
}

/** For each choice, how many approvals it and the following ones can supply, at most `saturation` each. */
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

/** Choices and their limits, for `distributions`. */
interface Supply {
  choices: Choice[];
  saturation: number;
  capacities: number[];
}

/** Every way to take `total` approvals from the choices from `start` on, without using a member of a class twice. */
function* distributions(supply: Supply, total: number, start = 0, before?: Choice, room = 0): Generator<Choice[]> {
  if (total === 0) yield [];
  for (let index = start; total > 0 && total <= (supply.capacities[index] ?? 0); index++) {
    const choice = supply.choices[index] as Choice;
    const { voterClass } = choice;
    const roomHere = voterClass === before?.voterClass ? room : voterClass.members.length;
    const least = Math.max(1, total - (supply.capacities[index + 1] ?? 0));
    for (let count = Math.min(total, supply.saturation, roomHere); count >= least; count--) {
      const chosen = { ...choice, count };
      for (const rest of distributions(supply, total - count, index + 1, chosen, roomHere - count)) {
        yield [chosen, ...rest];
      }
    }
  }
}

/** The approvals of the chosen members; choices of the same class use different members. */
function approvalsOf(chosen: readonly Choice[]): Approval[] {
  const taken = new Map<VoterClass, number>();
  return chosen.flatMap(({ voterClass, option, count }) => {
    const from = taken.get(voterClass) ?? 0;
    taken.set(voterClass, from + count);
    return voterClass.members.slice(from, from + count).map((options) => (options[option] as Option).approval);
  });
}

const missingOf = ({ voterClass, option, count }: Choice): MissingApprovals => ({
  count,
  anyOf: voterClass.members.map((options) => (options[option] as Option).approval.user.id),
});

/** Starts with everyone and removes unneeded users, class by class and then one by one, in both orders. */
function tryLeavingOut(search: Search, base: Base, classes: VoterClass[]): MissingApprovals[][] | "exhausted" {
  const everyone = classes.map((voterClass) => ({ voterClass, option: 0, count: voterClass.members.length }));
  for (const order of [everyone, everyone.toReversed()]) {
    if (!holds(search, base.all, order)) break;
    const members = needed(search, base, order).flatMap(({ voterClass }) =>
      voterClass.members.map((member) => ({ voterClass: { members: [member] }, option: 0, count: 1 })),
    );
    const chosen = needed(search, base, members);
    if (counts(search, base, chosen)) return [chosen.map(missingOf)];
  }
  return "exhausted";
}

/** Removes choices one after the other, as long as the consensus still holds. Returns the remaining ones. */
function needed(search: Search, base: Base, choices: readonly Choice[]): readonly Choice[] {
  let left = choices;
  for (const choice of choices) {
    const without = left.filter((other) => other !== choice);
    if (holds(search, base.all, without)) left = without;
  }
  return left;
}

/** Whether the consensus holds with these approvals added to the base, and would not hold without the pivot's. */
function counts(search: Search, base: Base, chosen: readonly Choice[]): boolean {
  return holds(search, base.all, chosen) && !holds(search, base.withoutPivot, chosen);
}

function holds(search: Search, common: Common, chosen: readonly Choice[]): boolean {
  const { program, shape, budget, trials } = search;
  trials.left--;
  budget.spend(STEPS_PER_TRIAL);
  if (common.sums) return shape.holdsWith(addedUp(common.sums, chosen, budget), budget);
  const approvals = [...common.approvals, ...approvalsOf(chosen)];
  budget.spend(STEPS_PER_APPROVAL * approvals.length);
  try {
    return program.evaluate(consensusFacts(approvals), budget);
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
}

function addedUp(sums: Sums, chosen: readonly Choice[], budget: Budget): Sums {
  budget.spend((sums.length * (1 + chosen.length)) >> 1);
  return sums.map((sum, index) => {
    let total = sum;
    for (const { voterClass, option, count } of chosen) {
      const { adds } = (voterClass.members[0] as Option[])[option] as Option;
      total += count * ((adds as Sums)[index] as number);
    }
    return total;
  });
}
