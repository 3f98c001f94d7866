import { type Elector, type FactRef, FactsNotLoaded, type LookUps } from "../../authority/decisions/facts.ts";
import type { SessionProfile } from "../../authority/state.ts";
import { activityFacts } from "../../policy/activity-facts.ts";
import type { Voter } from "../../policy/approvals.ts";
import type { Budget } from "../../policy/budget.ts";
import type { ActivityFacts, ConditionFacts } from "../../policy/facts.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { rootIdOf } from "../identity/organizations.ts";
import type { Organization, PolicyFacts } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import type { Electorate } from "./electorate.ts";
import { loadPolicies } from "./policies.ts";

/** Where the facts come from that decisions look up. */
interface Sources {
  organization: Organization;
  activity: { type: string; resource: string; action: string; intent: unknown };
  /** What the operation itself tells of the activity. */
  loadActivity: (read: Reader) => Promise<PolicyFacts>;
  electorate: Electorate;
  /** In the place of those that are stored. */
  policies: readonly Policy[] | undefined;
}

type Profile = Pick<SessionProfile, "name" | "scope">;

const selectProfile = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("session_profiles")
    .select(["name", "scope"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", id),
);

/** The facts that decisions on one activity have looked up; they stay as they were first read. */
export class LoadingLookUps implements LookUps {
  readonly #sources: Sources;
  readonly #profiles = new Map<string, Profile | undefined>();
  #policies: readonly Policy[] | undefined;
  #activity: PolicyFacts | undefined;
  #conditionFacts: ConditionFacts | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#policies = sources.policies;
  }

  need(refs: readonly FactRef[]): void {
    const missing = refs.filter((ref) => !this.#has(ref));
    if (missing.length > 0) throw new FactsNotLoaded(missing);
  }

  policies(): readonly Policy[] {
    return this.#policies ?? missing({ fact: "policies" });
  }

  /** Policies, a session's scope and MFA may each ask; the answer is the same within one decision. */
  conditionFacts(steps: Budget): ConditionFacts {
    const told = this.#activity ?? missing({ fact: "activity" });
    if (this.#conditionFacts) return this.#conditionFacts;
    const { type, resource, action, intent } = this.#sources.activity;
    steps.spend(stepsToRead(intent));
    this.#conditionFacts = conditionFacts(activityFacts(type, { resource, action }, intent, steps), told);
    return this.#conditionFacts;
  }

  user(userId: string): Elector | undefined {
    this.need([{ fact: "user", userId }]);
    return this.#sources.electorate.elector(userId);
  }

  voters(): readonly Voter[] {
    return this.#sources.electorate.voters ?? missing({ fact: "voters" });
  }

  sessionProfile(id: string): Profile | undefined {
    // What it is needed for is a condition on the activity.
    this.need([{ fact: "sessionProfile", id }, { fact: "activity" }]);
    return this.#profiles.get(id);
  }

  async load(read: Reader, refs: readonly FactRef[]): Promise<void> {
    await Promise.all(refs.map((ref) => this.#load(read, ref)));
  }

  #has(ref: FactRef): boolean {
    switch (ref.fact) {
      case "policies":
        return this.#policies !== undefined;
      case "activity":
        return this.#activity !== undefined;
      case "user":
        return this.#sources.electorate.knows(ref.userId);
      case "voters":
        return this.#sources.electorate.voters !== undefined;
      case "sessionProfile":
        return this.#profiles.has(ref.id);
    }
  }

  async #load(read: Reader, ref: FactRef): Promise<void> {
    const { organization, electorate, loadActivity } = this.#sources;
    switch (ref.fact) {
      case "policies":
        this.#policies = await loadPolicies(read, organization.id, organization.policiesVersion);
        return;
      case "activity":
        this.#activity = await loadActivity(read);
        return;
      case "user":
        return electorate.read(read, ref.userId);
      case "voters":
        return electorate.readVoters(read);
      case "sessionProfile": {
        const [profile] = await selectProfile(read, { organizationId: rootIdOf(organization), id: ref.id });
        this.#profiles.set(ref.id, profile);
        return;
      }
    }
  }
}

function missing(ref: FactRef): never {
  throw new FactsNotLoaded([ref]);
}

/** What it is worth to make facts of what an activity is about, which may be a long transaction. */
function stepsToRead(intent: unknown): number {
  const texts = Object.values(intent as object).flat();
  const steps = texts.reduce((sum: number, text) => sum + (typeof text === "string" ? text.length >> 2 : 16), 0);
  return 1000 + Math.min(steps, MAX_STEPS_TO_READ);
}

/** The limits of what can be signed keep it to this, however long a request is. */
const MAX_STEPS_TO_READ = 100_000;

/** Getters stay getters: what cannot be told is an error of the policy that asks for it, and of no other. */
const conditionFacts = (activity: ActivityFacts, facts: PolicyFacts): ConditionFacts =>
  Object.defineProperties({ activity }, Object.getOwnPropertyDescriptors(facts));

/** Decisions ask for a few kinds of facts one after another; more rounds than this are a fault of theirs. */
const MAX_ROUNDS = 10;

/**
 * Has something decided, loading the facts that it asks for. `decide` may run several times, each time with what `budget` gives for a turn.
 *
 * @throws OutOfBudget
 */
export async function onFacts<T>(
  read: Reader,
  { lookUps }: { lookUps: LoadingLookUps },
  budget: DecisionBudget,
  decide: (steps: Budget) => T,
): Promise<T> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const steps = await budget.turn();
    try {
      return decide(steps);
    } catch (error) {
      if (!(error instanceof FactsNotLoaded)) throw error;
      await lookUps.load(read, error.refs);
    }
  }
  throw new Error(`a decision asked for facts more than ${MAX_ROUNDS} times`);
}
