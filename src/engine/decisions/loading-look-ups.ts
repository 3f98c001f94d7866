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

/** The sources of the facts that decisions look up. */
interface Sources {
  organization: Organization;
  activity: { type: string; resource: string; action: string; intent: unknown };
  /** The facts that the operation provides. */
  loadActivity: (read: Reader) => Promise<PolicyFacts>;
  electorate: Electorate;
  /** Used in place of the stored ones, if set. */
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

/** The facts that decisions on one activity have looked up. Each is read once and kept. */
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

  /** Policies, session profiles and MFA policies may each ask for it. The result is the same within one decision. */
  conditionFacts(steps: Budget): ConditionFacts {
    const byOperation = this.#activity ?? missing({ fact: "activity" });
    if (this.#conditionFacts) return this.#conditionFacts;
    const { type, resource, action, intent } = this.#sources.activity;
    steps.spend(stepsToRead(intent));
    this.#conditionFacts = conditionFacts(activityFacts(type, { resource, action }, intent, steps), byOperation);
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
    // A session profile is needed to evaluate its condition, which reads the activity's facts.
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

/** The budget charged for computing an activity's facts, which may mean parsing a long transaction. */
function stepsToRead(intent: unknown): number {
  const texts = Object.values(intent as object).flat();
  const steps = texts.reduce((sum: number, text) => sum + (typeof text === "string" ? text.length >> 2 : 16), 0);
  return 1000 + Math.min(steps, MAX_STEPS_TO_READ);
}

/** The size limits of what can be signed bound the cost to this, however long a request is. */
const MAX_STEPS_TO_READ = 100_000;

/** Keeps getters as getters: a fact that cannot be computed is an error only for the policies that read it. */
const conditionFacts = (activity: ActivityFacts, facts: PolicyFacts): ConditionFacts =>
  Object.defineProperties({ activity }, Object.getOwnPropertyDescriptors(facts));

/** Decisions look up a few kinds of facts one after the other; more rounds than this are a bug. */
const MAX_ROUNDS = 10;

/**
 * Runs a decision and loads the facts that it looks up. `decide` may run several times, each time with one slice of `budget`.
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
