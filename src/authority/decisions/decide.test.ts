import assert from "node:assert/strict";
import { test } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { Budget, OutOfBudget } from "../../policy/budget.ts";
import type { ConditionFacts } from "../../policy/facts.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Actor, ShownCredential } from "../parties.ts";
import { type Decision, decide, decisionOfPolicies } from "./decide.ts";
import { denialOf } from "./denials.ts";
import { type DecisionFacts, type Elector, type FactRef, FactsNotLoaded, type LookUps } from "./facts.ts";
import { mfaStandingOf } from "./mfa.ts";
import { sessionScopeProblem } from "./session-scope.ts";
import { owesAuthenticators, voteDenial, voteRights } from "./votes.ts";

/** Decisions without a server or a database: all that they are made on is what is written here. */

const MEMBERS = ["root-1", "root-2"];
const USERS = ["ann", "bob", "cat", ...MEMBERS];
const WITH_MFA = "cat";
const passkeyFirst = { any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" as const }] };

const passkeyMfa = { id: "mfa", condition: "activity.resource == 'WALLET'", requiredMethods: [passkeyFirst] };

const electors = new Map<string, Elector>(
  USERS.map((id) => [
    id,
    {
      voter: { id, tags: [], email: "", alias: id, credentials: [credentialFacts(id)] },
      mfaPolicies: id === WITH_MFA ? [passkeyMfa] : [],
    },
  ]),
);

function credentialFacts(userId: string) {
  return { id: `key-of-${userId}`, user_id: userId, type: "CREDENTIAL_TYPE_API_KEY_P256", public_key: `02${userId}` };
}

const actor = (userId: string): Actor => ({
  userId,
  userName: userId,
  organizationId: "o",
  isRootQuorumMember: MEMBERS.includes(userId),
  hasMfaPolicies: userId === WITH_MFA,
  credential: { id: `key-of-${userId}`, type: "CREDENTIAL_TYPE_API_KEY_P256" },
});

const shown = (userId: string) => ({ ...actor(userId).credential, publicKey: `02${userId}` });
const approvalBy = (userId: string) => ({ actor: actor(userId), credentials: [shown(userId)] });

const policy = (policyId: string, effect: Policy["effect"], condition = "true", consensus?: string): Policy =>
  ({ policyId, effect, condition, consensus, time: undefined }) as Policy;

const newConditionFacts = (): ConditionFacts =>
  ({
    activity: { type: "ACTIVITY_TYPE_CREATE_WALLET", resource: "WALLET", action: "CREATE", kind: "", params: {} },
  }) as never;

interface World {
  /** One object for one verdict, as the engine has it. */
  conditionFacts?: ConditionFacts;
  policies?: Policy[];
  /** Undefined: everything is there. */
  loaded?: Set<string>;
}

const nameOf = (ref: FactRef): string => JSON.stringify(ref);

function lookUpsIn({ policies = [], loaded, conditionFacts = newConditionFacts() }: World): LookUps {
  const need = (refs: readonly FactRef[]) => {
    const missing = refs.filter((ref) => loaded && !loaded.has(nameOf(ref)));
    if (missing.length > 0) throw new FactsNotLoaded(missing);
  };
  const needed = <T>(ref: FactRef, value: T): T => {
    need([ref]);
    return value;
  };
  return {
    need,
    policies: () => needed({ fact: "policies" }, policies),
    conditionFacts: () => needed({ fact: "activity" }, conditionFacts),
    user: (userId) => needed({ fact: "user", userId }, electors.get(userId)),
    voters: () =>
      needed(
        { fact: "voters" },
        [...electors.values()].map(({ voter }) => voter),
      ),
    sessionProfile: (id) => needed({ fact: "sessionProfile", id }, { name: id, scope: "activity.resource == 'USER'" }),
  };
}

function factsOf(world: World, submitter: string, approvals: readonly string[], more: Partial<DecisionFacts> = {}) {
  return {
    organization: { id: "o", quorumThreshold: MEMBERS.length },
    subject: { governedBy: "policies", resource: "WALLET", action: "CREATE" },
    submitter: actor(submitter),
    approvals: approvals.map(approvalBy),
    lookUps: lookUpsIn(world),
    now: 0,
    ...more,
  } satisfies DecisionFacts as DecisionFacts;
}

const steps = () => new Budget(1_000_000);
const outcomeOf = (...given: Parameters<typeof factsOf>): Decision["outcome"] =>
  decide(factsOf(...given), steps()).outcome;

const allowAll = policy("allow", "EFFECT_ALLOW");
const denyAll = policy("deny", "EFFECT_DENY");
const twoOf = policy("two", "EFFECT_ALLOW", "true", "approvers.count() >= 2");

test("the root quorum acts above policies, and waits for its other members", () => {
  assert.equal(outcomeOf({ policies: [denyAll] }, "root-1", MEMBERS), "allow");
  assert.equal(outcomeOf({ policies: [denyAll] }, "root-1", ["root-1"]), "consensus");
  assert.equal(outcomeOf({}, "root-1", ["root-1"]), "consensus");
});

test("others need a policy that allows it, and none that denies it", () => {
  assert.equal(outcomeOf({}, "ann", ["ann"]), "deny");
  assert.equal(outcomeOf({ policies: [allowAll] }, "ann", ["ann"]), "allow");
  assert.equal(outcomeOf({ policies: [allowAll, denyAll] }, "ann", ["ann"]), "deny");
  assert.equal(outcomeOf({ policies: [twoOf] }, "ann", ["ann"]), "consensus");
  assert.equal(outcomeOf({ policies: [twoOf] }, "ann", ["ann", "bob"]), "allow");
});

test("what policies do not deny, users do with credentials of their own", () => {
  const own = {
    subject: { governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", ownerId: "ann" },
  } as const;
  assert.equal(outcomeOf({}, "ann", ["ann"], own), "allow");
  assert.equal(outcomeOf({ policies: [denyAll] }, "ann", ["ann"], own), "deny");
  assert.equal(outcomeOf({}, "bob", ["bob"], own), "deny");
  assert.equal(outcomeOf({}, "ann", ["ann", "bob"], own), "allow");
  assert.equal(outcomeOf({}, "ann", ["bob"], own), "deny", "whoever asked no longer approves");
});

test("what is governed by nobody is allowed whatever policies say, and reads nothing", () => {
  const decided = { subject: { governedBy: "nobody", resource: "INVITATION", action: "UPDATE" } } as const;
  const { value, rounds } = asAsked({ policies: [denyAll] }, (world) => outcomeOf(world, "ann", ["ann"], decided));
  assert.equal(value, "allow");
  assert.deepEqual(rounds, []);
});

test("policies allow nothing that the root quorum alone decides on", () => {
  const quorum = { subject: { governedBy: "rootQuorum" } } as const;
  assert.equal(outcomeOf({ policies: [allowAll] }, "ann", ["ann"], quorum), "deny");
  assert.equal(outcomeOf({ policies: [denyAll] }, "root-1", MEMBERS, quorum), "allow");
  const rights = voteRights(factsOf({ policies: [twoOf] }, "root-1", ["root-1"], quorum), actor("bob"), steps());
  assert.deepEqual(rights, { mayApprove: false, mayReject: false });
});

test("users do with their own, as the activity itself says, what policies do not deny", () => {
  const own = {
    subject: { governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", isOwn: true },
  } as const;
  assert.equal(outcomeOf({}, "ann", ["ann"], own), "allow");
  assert.equal(outcomeOf({ policies: [denyAll] }, "ann", ["ann"], own), "deny");
});

test("what one user alone may submit is denied to all others, whatever policies and the root quorum allow", () => {
  const onlyFor = (onlyUserId: string) =>
    ({ subject: { governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", onlyUserId } }) as const;
  const world = { policies: [allowAll] };
  assert.equal(outcomeOf(world, "ann", ["ann"], onlyFor("ann")), "allow");
  for (const [submitter = "", ...others] of [["bob"], MEMBERS]) {
    const made = (each: World) => decide(factsOf(each, submitter, [submitter, ...others], onlyFor("ann")), steps());
    const { value, rounds } = asAsked(world, made);
    assert.ok(value.outcome === "deny");
    assert.match(JSON.stringify(value.details), /Only user ann may do this/);
    assert.ok(rounds[0]?.some((ref) => ref.fact === "user" && ref.userId === "ann"));
    assert.equal(rounds.length, 1, "that user is looked up with everything else");
  }
  const unknown = factsOf(world, "ann", ["ann"], onlyFor("nobody"));
  assert.throws(
    () => decide(unknown, steps()),
    (error) => error instanceof KeysteadError && error.code === "RESOURCE_NOT_FOUND",
  );
});

test("an approval counts once its user has shown what their MFA policy requires", () => {
  const passkey = { id: "passkey", type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR", publicKey: "04" };
  const { approvals, ...facts } = factsOf({ policies: [allowAll] }, WITH_MFA, [WITH_MFA]);
  const both = approvals.map((approval) => ({ ...approval, credentials: [...approval.credentials, passkey] }));
  assert.equal(decide({ ...facts, approvals }, steps()).outcome, "authenticators");
  const { outcome, evaluations } = decide({ ...facts, approvals: both }, steps());
  assert.equal(outcome, "allow");
  assert.deepEqual(evaluations, [{ policyId: "allow", outcome: "OUTCOME_ALLOW" }]);
  assert.equal(owesAuthenticators({ ...facts, approvals: both }, actor(WITH_MFA), steps()), false);
});

test("MFA policies hold nothing up where none applies, and where the activity is denied anyway", () => {
  const other = { ...passkeyMfa, condition: "activity.resource == 'USER'" };
  const facts = factsOf({ policies: [allowAll] }, WITH_MFA, [WITH_MFA]);
  const user = () => ({ ...(electors.get(WITH_MFA) as Elector), mfaPolicies: [other] });
  assert.equal(decide({ ...facts, lookUps: { ...facts.lookUps, user } }, steps()).outcome, "allow");
  assert.equal(outcomeOf({ policies: [denyAll] }, WITH_MFA, [WITH_MFA]), "deny");
});

test("the first of a user's MFA policies that applies counts, and a credential of which nothing is known meets none", () => {
  const facts = factsOf({ policies: [allowAll] }, WITH_MFA, [WITH_MFA]);
  const anyKey = { any: [{ type: "AUTHENTICATION_TYPE_API_KEY" as const }] };
  const standingOf = (mfaPolicies: Elector["mfaPolicies"], credentials: ShownCredential[] = [shown(WITH_MFA)]) => {
    const user = () => ({ ...(electors.get(WITH_MFA) as Elector), mfaPolicies });
    return mfaStandingOf({ lookUps: { ...facts.lookUps, user } }, WITH_MFA, credentials, steps());
  };
  const byKey = { ...passkeyMfa, id: "by key", requiredMethods: [anyKey] };
  const never = { ...passkeyMfa, id: "never", condition: "false" };
  assert.deepEqual(standingOf([never, passkeyMfa, byKey]), {
    mfaPolicyId: "mfa",
    userId: WITH_MFA,
    satisfied: false,
    satisfiedMethods: [],
    requiredMethods: [passkeyFirst],
  });
  const met = standingOf([byKey, passkeyMfa]);
  assert.deepEqual(
    [met?.mfaPolicyId, met?.satisfied, met?.satisfiedMethods],
    ["by key", true, [{ type: "AUTHENTICATION_TYPE_API_KEY", id: `key-of-${WITH_MFA}` }]],
  );
  // Of old votes the credential is not known.
  assert.equal(standingOf([byKey], [{ id: "", type: "", publicKey: "02" }])?.satisfied, false);
  // In doubt further credentials are required.
  assert.equal(standingOf([{ ...passkeyMfa, condition: "activity.resource ==" }])?.satisfied, false);
  assert.equal(standingOf([never]), undefined);
});

test("a submitter owes what their MFA policy requires, even if only others approve by now", () => {
  assert.equal(outcomeOf({ policies: [allowAll] }, WITH_MFA, ["ann"]), "authenticators");
  assert.equal(outcomeOf({ policies: [allowAll] }, "ann", ["bob"]), "allow");
});

test("an approval whose user owes a further credential does not count yet", () => {
  assert.equal(outcomeOf({ policies: [allowAll] }, WITH_MFA, [WITH_MFA]), "authenticators");
  assert.equal(outcomeOf({ policies: [twoOf] }, "ann", ["ann", WITH_MFA]), "authenticators");
  assert.equal(outcomeOf({ policies: [twoOf] }, "ann", ["ann", "bob", WITH_MFA]), "allow");
  const facts = factsOf({}, "ann", ["ann", WITH_MFA]);
  assert.equal(owesAuthenticators(facts, actor(WITH_MFA), steps()), true);
  assert.equal(owesAuthenticators(facts, actor("ann"), steps()), false);
  assert.equal(owesAuthenticators(factsOf({}, "ann", ["ann"]), actor(WITH_MFA), steps()), false);
});

test("each of several who owe a further credential is left out, and it is recorded beside what policies came to", () => {
  const facts = factsOf({ policies: [allowAll] }, "ann", ["ann", "bob"]);
  const owing = (one: Actor): Actor => ({ ...one, hasMfaPolicies: true });
  const user = (userId: string) => ({ ...(electors.get(userId) as Elector), mfaPolicies: [passkeyMfa] });
  const { outcome, evaluations } = decide(
    {
      ...facts,
      submitter: owing(facts.submitter),
      approvals: facts.approvals.map((approval) => ({ ...approval, actor: owing(approval.actor) })),
      lookUps: { ...facts.lookUps, user },
    },
    steps(),
  );
  assert.equal(outcome, "authenticators");
  const owed = { policyId: "mfa", outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" };
  assert.deepEqual(evaluations, [{ policyId: "allow", outcome: "OUTCOME_ALLOW" }, owed, owed]);
});

test("those vote whose approval could help", () => {
  const rights = (world: World, voter: string) => voteRights(factsOf(world, "ann", ["ann"]), actor(voter), steps());
  assert.deepEqual(rights({ policies: [twoOf] }, "bob"), { mayApprove: true, mayReject: true });
  assert.deepEqual(rights({}, "bob"), { mayApprove: false, mayReject: false });
  assert.deepEqual(rights({}, "root-1"), { mayApprove: true, mayReject: true });
  assert.deepEqual(rights({ policies: [allowAll] }, "bob"), { mayApprove: true, mayReject: true });
});

test("an approval may help in place of others, and in addition to them", () => {
  const rights = (policies: Policy[]) => voteRights(factsOf({ policies }, "ann", ["ann"]), actor("bob"), steps());
  const either = { mayApprove: true, mayReject: true };
  // By itself, once that of the submitter has expired.
  assert.deepEqual(rights([policy("one", "EFFECT_ALLOW", "true", "approvers.count() >= 1")]), either);
  assert.deepEqual(rights([policy("bob", "EFFECT_ALLOW", "true", "approvers.all(user, user.id == 'bob')")]), either);
  // Only beside that of the submitter: without any approval this is denied.
  assert.deepEqual(rights([twoOf, policy("none", "EFFECT_DENY", "true", "approvers.count() == 0")]), either);
});

test("policies see the approvals of users who still exist, with the credential of each", () => {
  const wanting = (consensus: string) => ({ policies: [policy("wants", "EFFECT_ALLOW", "true", consensus)] });
  const outcomeFor = (consensus: string, credentials: ShownCredential[]) => {
    const facts = factsOf(wanting(consensus), "ann", ["ann"]);
    return decide({ ...facts, approvals: [{ actor: actor("ann"), credentials }] }, steps()).outcome;
  };
  const [registered, token] = [shown("ann"), "CREDENTIAL_TYPE_ATTESTED_OAUTH"];
  const former = { id: "former", type: "CREDENTIAL_TYPE_API_KEY_P256", publicKey: "02former" };
  const attested = { id: "provider", type: token, publicKey: registered.publicKey };
  const cases: [ShownCredential, string][] = [
    [registered, "c.id == 'key-of-ann'"],
    // Replaced since.
    [former, "c.id == 'former' && c.user_id == 'ann' && c.public_key == '02former'"],
    // What was shown is the token, although its key is registered too.
    [attested, `c.id == 'provider' && c.type == '${token}'`],
  ];
  for (const [credential, predicate] of cases) {
    assert.equal(outcomeFor(`credentials.any(c, ${predicate})`, [credential]), "allow", predicate);
    assert.equal(outcomeFor(`credentials.count() == 1 && credentials.any(c, ${predicate})`, [credential]), "allow");
  }
  // What is registered is told as it is now.
  const facts = factsOf(wanting("credentials.any(c, c.credential_id == 'passkey of ann')"), "ann", ["ann"]);
  const elector = electors.get("ann") as Elector;
  const credentials = [{ ...credentialFacts("ann"), credential_id: "passkey of ann" }];
  const user = () => ({ ...elector, voter: { ...elector.voter, credentials } });
  assert.equal(decide({ ...facts, lookUps: { ...facts.lookUps, user } }, steps()).outcome, "allow");
  // Of old votes the credential is not known.
  const unknown = { id: "", type: "", publicKey: "02former" };
  assert.equal(outcomeFor("credentials.count() == 0", [unknown]), "allow");
  const gone = { ...actor("gone"), hasMfaPolicies: true };
  const waiting = factsOf({ policies: [twoOf] }, "ann", ["ann"]);
  const approvals = [...waiting.approvals, { actor: gone, credentials: [{ ...former, publicKey: "02gone" }] }];
  assert.equal(decide({ ...waiting, approvals }, steps()).outcome, "consensus");
});

test("a denial tells the outcome of each policy, why, and what can be done", () => {
  const denied = (world: World, more: Partial<DecisionFacts> = {}) => {
    const decision = decide(factsOf(world, "ann", ["ann"], more), steps());
    assert.ok(decision.outcome === "deny");
    const [{ message, policyEvaluations }, { remedy, explanations }] = decision.details as unknown as [
      { message: string; policyEvaluations: unknown },
      { remedy: string; explanations: { policyId: string; text: string }[] },
    ];
    return { message, policyEvaluations, remedy, explained: explanations.map(({ policyId }) => policyId) };
  };
  const none = denied({});
  assert.deepEqual([none.policyEvaluations, none.explained], [[], []]);
  assert.match(none.message, /No policies evaluated to outcome: Allow/);
  assert.match(none.remedy, /has no policies that could allow it/);
  const explicit = denied({ policies: [allowAll, denyAll] });
  assert.match(explicit.message, /denied this action: deny$/);
  assert.match(explicit.remedy, /only the root quorum can overrule/);
  assert.deepEqual(explicit.explained, ["allow", "deny"]);
  assert.deepEqual(explicit.policyEvaluations, [
    { policyId: "allow", outcome: "OUTCOME_ALLOW" },
    { policyId: "deny", outcome: "OUTCOME_DENY_EXPLICIT" },
  ]);
  const implicit = denied({ policies: [policy("never", "EFFECT_ALLOW", "false")] });
  assert.match(implicit.remedy, /simulate_policy/);
  const quorum = denied({ policies: [allowAll] }, { subject: { governedBy: "rootQuorum" } });
  assert.match(quorum.remedy, /Only the root quorum decides on this: it requires approvals by 2/);
});

test("a denial says so where there are no steps left to explain it", () => {
  const costly = policy("costly", "EFFECT_ALLOW", `${"activity.action == 'X' || ".repeat(50)}activity.action == 'Y'`);
  const facts = () => factsOf({ policies: [costly] }, "ann", ["ann"]);
  const textWithin = (budget: Budget) => {
    const decision = decide(facts(), budget);
    assert.ok(decision.outcome === "deny");
    const [, { explanations }] = decision.details as unknown as [unknown, { explanations: { text: string }[] }];
    return explanations[0]?.text ?? "";
  };
  assert.doesNotMatch(textWithin(steps()), /cannot be explained/);
  const budget = steps();
  const { left } = budget;
  decisionOfPolicies(facts(), budget);
  assert.match(textWithin(new Budget(left - budget.left)), /cannot be explained, because .* takes too much work/);
});

test("the error of a denial is a sentence with what to do, whatever was stored of it", () => {
  const reasonOf = (...details: object[]) => denialOf(details as never).message;
  assert.match(reasonOf({ message: "No policy allows it" }, { remedy: "Ask." }), /No policy allows it\. Ask\.$/);
  assert.match(reasonOf({ message: "It waits." }, { remedy: "Ask." }), /[^.]It waits\. Ask\.$/);
  assert.match(reasonOf({ message: "It waits." }), /It waits\.$/);
  assert.match(reasonOf(), /It was rejected\.$/);
});

test("submitters may always vote, and users of another organization never", () => {
  const facts = factsOf({}, "ann", ["ann"]);
  assert.deepEqual(voteRights(facts, actor("ann"), steps()), { mayApprove: true, mayReject: true });
  for (const userId of ["bob", "root-1", "ann"]) {
    const elsewhere = { ...actor(userId), organizationId: "another" };
    const rights = voteRights({ ...facts, lookUps: lookUpsIn({ policies: [twoOf] }) }, elsewhere, steps());
    assert.deepEqual(rights, { mayApprove: false, mayReject: false }, userId);
  }
});

test("an earlier approval by the voter, which a policy denies, does not keep them from approving", () => {
  const own = {
    subject: { governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", ownerId: "ann" },
  } as const;
  const denied = policy("denied", "EFFECT_DENY", "true", "approvers.any(user, user.id == 'bob')");
  const rights = voteRights(factsOf({ policies: [denied] }, "ann", ["ann", "bob"], own), actor("bob"), steps());
  assert.deepEqual(rights, { mayApprove: true, mayReject: false });
});

test("a denial by those who approve leaves others no vote, and one's own approval does not take the vote back", () => {
  const deniedWith = (userId: string) =>
    policy("denied", "EFFECT_DENY", "true", `approvers.any(user, user.id == '${userId}')`);
  const rights = (policies: Policy[], approvals: string[]) =>
    voteRights(factsOf({ policies }, "ann", approvals), actor("bob"), steps());
  assert.deepEqual(rights([twoOf, deniedWith("ann")], ["ann"]), { mayApprove: false, mayReject: false });
  assert.deepEqual(rights([twoOf, deniedWith("bob")], ["ann", "bob"]), { mayApprove: true, mayReject: true });
});

test("a vote that would not count is refused with what each policy says, an earlier vote of that user left out", () => {
  const byBob = policy("by bob", "EFFECT_ALLOW", "true", "approvers.any(user, user.id == 'bob')");
  const denied = policy("denied", "EFFECT_DENY", "true", "approvers.any(user, user.id == 'ann')");
  const facts = factsOf({ policies: [byBob, denied] }, "ann", ["ann", "bob"]);
  const { code, message, details } = voteDenial(facts, actor("bob"), steps());
  assert.equal(code, "PERMISSION_DENIED");
  assert.match(message, /A vote of this user would not count on this activity\. .*only the root quorum can overrule/);
  const [{ policyEvaluations }, { explanations }] = details as unknown as [
    { policyEvaluations: unknown },
    { explanations: { policyId: string }[] },
  ];
  assert.deepEqual(policyEvaluations, [
    { policyId: "by bob", outcome: "OUTCOME_REQUIRES_CONSENSUS" },
    { policyId: "denied", outcome: "OUTCOME_DENY_EXPLICIT" },
  ]);
  assert.deepEqual(
    explanations.map(({ policyId }) => policyId),
    ["by bob", "denied"],
  );
  const quorum = { subject: { governedBy: "rootQuorum" } } as const;
  const ofQuorum = voteDenial(factsOf({ policies: [byBob] }, "root-1", ["root-1"], quorum), actor("bob"), steps());
  assert.match(ofQuorum.message, /would not count on this activity\. Only the root quorum decides on this/);
});

test("who has no MFA policies owes nothing, without a look at any fact", () => {
  const { value, rounds } = asAsked({}, (world) =>
    owesAuthenticators(factsOf(world, "ann", ["ann"]), actor("ann"), steps()),
  );
  assert.equal(value, false);
  assert.deepEqual(rounds, []);
});

test("a session does what its profile's scope allows", () => {
  const limited = { ...actor("ann"), credential: { id: "s", type: "t", sessionProfileId: "users only" } };
  const facts = factsOf({}, "ann", ["ann"]);
  assert.match(sessionScopeProblem(facts, limited, steps()) ?? "", /users only.*does not allow this/);
  assert.equal(sessionScopeProblem(facts, actor("ann"), steps()), undefined);
  const lookUps = { ...facts.lookUps, sessionProfile: () => undefined };
  assert.match(sessionScopeProblem({ lookUps }, limited, steps()) ?? "", /users only does not exist/);
});

test("a session whose profile's scope cannot be evaluated does nothing", () => {
  const limited = { ...actor("ann"), credential: { id: "s", type: "t", sessionProfileId: "p" } };
  const { lookUps } = factsOf({}, "ann", ["ann"]);
  const problem = (scope: string, budget = steps()) =>
    sessionScopeProblem({ lookUps: { ...lookUps, sessionProfile: () => ({ name: "p", scope }) } }, limited, budget);
  assert.equal(problem("activity.resource == 'WALLET'"), undefined);
  assert.match(problem("activity.resource ==") ?? "", /cannot be evaluated here: ./);
  assert.match(problem("eth.tx.value > 5") ?? "", /cannot be evaluated here: ./);
  // A scope that is true only after more work than there is steps for.
  const costly = `${"activity.resource == 'X' || ".repeat(40)}activity.resource == 'WALLET'`;
  assert.equal(problem(costly), undefined);
  const another = {
    lookUps: { ...lookUps, conditionFacts: newConditionFacts, sessionProfile: () => ({ name: "p", scope: costly }) },
  };
  assert.throws(() => sessionScopeProblem(another, limited, new Budget(1)), OutOfBudget);
});

test("without steps nobody is allowed or denied anything, and a root quorum that is short waits", () => {
  const costly = policy("costly", "EFFECT_ALLOW", `${"(".repeat(40)}true${")".repeat(40)} && activity.resource == 'X'`);
  const facts = (submitter: string) => factsOf({ policies: [costly] }, submitter, [submitter]);
  assert.throws(() => decide(facts("ann"), new Budget(1)), OutOfBudget);
  assert.equal(decide(facts("root-1"), new Budget(1)).outcome, "consensus");
});

/** What a decision comes to where facts are loaded as it asks for them, with all that it asked for. */
function asAsked<T>(world: World, decision: (world: World) => T): { value: T; rounds: FactRef[][] } {
  const loaded = new Set<string>();
  const rounds: FactRef[][] = [];
  for (;;) {
    try {
      return { value: decision({ ...world, loaded }), rounds };
    } catch (error) {
      if (!(error instanceof FactsNotLoaded)) throw error;
      assert.ok(rounds.length < 5, `it asked for ${JSON.stringify(rounds)}`);
      assert.ok(error.refs.every((ref) => !loaded.has(nameOf(ref))));
      rounds.push([...error.refs]);
      for (const ref of error.refs) loaded.add(nameOf(ref));
    }
  }
}

test("it is the same decision however its facts come to be there", () => {
  const lists = [[], [allowAll], [twoOf], [allowAll, denyAll], [twoOf, denyAll]];
  const subsets = (users: readonly string[]): string[][] =>
    users.reduce<string[][]>((sets, user) => sets.flatMap((set) => [set, [...set, user]]), [[]]);
  for (const policies of lists) {
    for (const [submitter = "", ...others] of USERS.map((_, index) => [
      ...USERS.slice(index),
      ...USERS.slice(0, index),
    ])) {
      for (const approvals of subsets(others).map((set) => [submitter, ...set])) {
        const made = (world: World) => {
          const { outcome, evaluations } = decide(factsOf(world, submitter, approvals), steps());
          return {
            outcome,
            evaluations,
            rights: voteRights(factsOf(world, submitter, approvals), actor("bob"), steps()),
          };
        };
        assert.deepEqual(asAsked({ policies }, made).value, made({ policies }), `${submitter}: ${approvals}`);
      }
    }
  }
});

test("a decision that is made again as its facts come spends hardly more than one that has them at hand", () => {
  const costly = policy("costly", "EFFECT_ALLOW", `${"activity.action == 'X' || ".repeat(200)}activity.action == 'Y'`);
  const mfa = `${"activity.action == 'X' || ".repeat(200)}activity.resource == 'WALLET'`;
  const elector = electors.get(WITH_MFA) as Elector;
  const policies = [costly, policy("three", "EFFECT_ALLOW", "true", "approvers.count() >= 4")];
  const spentBy = (made: (budget: Budget) => unknown): number => {
    const budget = steps();
    const { left } = budget;
    made(budget);
    return left - budget.left;
  };
  const withCostlyMfa = (lookUps: LookUps): LookUps => ({
    ...lookUps,
    user: (userId) => {
      const user = lookUps.user(userId);
      return userId === WITH_MFA ? { ...elector, mfaPolicies: [{ ...passkeyMfa, condition: mfa }] } : user;
    },
  });
  const world = () => ({ policies, conditionFacts: newConditionFacts() });
  const made = (world: World, budget: Budget) => {
    const facts = factsOf(world, "ann", ["ann", WITH_MFA]);
    return decide({ ...facts, lookUps: withCostlyMfa(facts.lookUps) }, budget).outcome;
  };
  // Compiled, and no longer counted.
  assert.equal(made(world(), steps()), "consensus");
  const atHand = spentBy((budget) => made(world(), budget));
  const rounds: unknown[] = [];
  const asNeeded = spentBy((budget) => rounds.push(...asAsked(world(), (each) => made(each, budget)).rounds));
  assert.equal(rounds.length, 3, "policies and users, the activity, and all users");
  assert.ok(atHand > 500, `${atHand} steps`);
  assert.ok(asNeeded < atHand * 1.2, `${asNeeded} steps and not ${atHand}`);
});

test("what is not needed is not asked for, and what is needed is asked for together", () => {
  const asked = (world: World, submitter: string, approvals: string[]) =>
    asAsked(world, (each) => decide(factsOf(each, submitter, approvals), steps())).rounds;
  assert.deepEqual(asked({ policies: [allowAll] }, "root-1", MEMBERS), [], "the root quorum needs nothing");
  assert.deepEqual(
    asked({}, "ann", ["ann"]),
    [[{ fact: "policies" }]],
    "without policies nobody asks what it is about",
  );
  const user = (userId: string): FactRef => ({ fact: "user", userId });
  assert.deepEqual(asked({ policies: [allowAll] }, "ann", ["ann", "bob"]), [
    [{ fact: "policies" }],
    [{ fact: "activity" }, user("ann"), user("bob")],
  ]);
  const ofAll = asked({ policies: [twoOf] }, "ann", ["ann"]).at(-1);
  assert.deepEqual(ofAll, [{ fact: "voters" }], "all users only where approvals are missing");
});
