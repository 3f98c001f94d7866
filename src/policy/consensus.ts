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

/** What would complete a consensus: any one of `ways`, each of which needs all of its parts. */
export type ConsensusOutlook =
  | { reachable: true; ways: MissingApprovals[][] }
  /** `exhausted`: not every set of approvals could be tried. */
  | { reachable: false; exhausted: boolean };

interface Search {
  program: Program<"consensus">;
  shape: Shape;
  budget: Budget;
  trials: { left: number };
  pivotId: string;
}

/** How many ways are told; one is enough to decide. */
const MAX_WAYS = 8;
/** What it is worth to make facts of an approval ... */
const STEPS_PER_APPROVAL = 16;
/** ... and to try a set of approvals, beside evaluating it. */
const STEPS_PER_TRIAL = 32;

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
 *
 * @param budget the steps of all searches of a decision; where they are used up, the answer is that it was not found
 * @throws OutOfBudget where there are fewer of them than a decision may have
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

/** The approvals there are, with the pivot's among them. */
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

/** Approvals that all sets have in common. */
interface Common {
  approvals: readonly Approval[];
  /** What the tests come to over them, where the consensus is made of tests. */
  sums: Sums | undefined;
}

/** What every set that is tried begins with, and the same without the pivot. */
interface Base {
  all: Common;
  withoutPivot: Common;
}

/** Undefined where a test ends in an error on one of the approvals, as the whole consensus then does whoever else approves. */
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

/** Whether the expression is the same with and without the pivot's approval, whoever else approves. */
function isInvisible({ all, withoutPivot }: Base): boolean {
  return all.sums?.every((sum, index) => sum === withoutPivot.sums?.[index]) ?? false;
}

// Who is alike.

/** One way in which a user could approve, and what it adds to the sums; undefined where the expression is not made of tests. */
interface Option {
  approval: Approval;
  adds: Sums | undefined;
}

/** Users with the same options. `options[i].adds` are the same for each member's i-th option. */
interface VoterClass {
  members: Option[][];
}

/** A user approves with one credential. One on which a test ends in an error would make the whole consensus an error. */
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
      // Who adds nothing changes nothing.
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

// Which approvals would do.

/** So many members of a class, with one of their options. Choices of one class stand side by side. */
interface Choice {
  voterClass: VoterClass;
  option: number;
  count: number;
}

/** Sets of further approvals by size, with half of the steps. Undefined when there were more than could be tried. */
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
    const least = Math.max(1, total - (supply.capacities[index + 1] ?? 0));
    for (let count = Math.min(total, supply.saturation, roomHere); count >= least; count--) {
      const chosen = { ...choice, count };
      for (const rest of distributions(supply, total - count, index + 1, chosen, roomHere - count)) {
        yield [chosen, ...rest];
      }
    }
  }
}

/** The approvals of the chosen; of a class, each choice takes other members. */
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

/** Starts with everyone and leaves out, class by class and then one by one, whoever is not needed; in either order. */
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

/** Of choices with which the consensus holds, those that are left when one after the other is left out if it can be. */
function needed(search: Search, base: Base, choices: readonly Choice[]): readonly Choice[] {
  let left = choices;
  for (const choice of choices) {
    const without = left.filter((other) => other !== choice);
    if (holds(search, base.all, without)) left = without;
  }
  return left;
}

/** Whether the consensus holds with these approvals beside the base, and would not without the pivot's. */
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
