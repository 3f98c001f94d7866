import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_CONSENSUS_STEPS } from "../kernel/limits.ts";
import { type Approval, consensusFacts, type Voter } from "./approvals.ts";
import { Budget } from "./budget.ts";
import { compile } from "./compile.ts";
import { type ConsensusOutlook, consensusOutlook } from "./consensus.ts";
import { PolicyError } from "./errors.ts";

const voter = (id: string, tags: string[] = [], types: string[] = ["CREDENTIAL_TYPE_API_KEY_P256"]): Voter => ({
  id,
  tags,
  alias: id.toLowerCase(),
  credentials: types.map((type, index) => ({
    id: `${id}-${index}`,
    user_id: id,
    type,
    public_key: `${id}-key-${index}`,
  })),
});

const approval = (user: Voter, credential = 0): Approval => ({ user, credential: user.credentials[credential] });

function outlook(
  consensus: string,
  voters: Voter[],
  approved: string[],
  pivotId = approved[0] ?? "",
  steps = MAX_CONSENSUS_STEPS,
): ConsensusOutlook {
  const approvals = approved.map((id) => approval(voters.find((user) => user.id === id) as Voter));
  return consensusOutlook(compile(consensus, "consensus"), approvals, voters, pivotId, new Budget(steps));
}

const team = [
  voter("A", ["T1"]),
  voter("B", ["T2"]),
  voter("C", ["T2"]),
  voter("D", ["T1", "T2"], ["CREDENTIAL_TYPE_API_KEY_P256", "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR"]),
  voter("E"),
];

test("tells whose approvals are missing", () => {
  const cases: [string, ConsensusOutlook][] = [
    ["approvers.count() >= 2", { reachable: true, ways: [[{ count: 1, anyOf: ["B", "C", "D", "E"] }]] }],
    ["approvers.count() >= 4", { reachable: true, ways: [[{ count: 3, anyOf: ["B", "C", "D", "E"] }]] }],
    ["approvers.count() == 3", { reachable: true, ways: [[{ count: 2, anyOf: ["B", "C", "D", "E"] }]] }],
    [
      "approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'B')",
      { reachable: true, ways: [[{ count: 1, anyOf: ["B"] }]] },
    ],
    [
      "approvers.any(u, u.tags.contains('T1')) && approvers.filter(u, u.tags.contains('T2')).count() >= 2",
      {
        reachable: true,
        // With D, who has both tags, A would not be needed.
        ways: [[{ count: 2, anyOf: ["B", "C"] }]],
      },
    ],
    [
      "approvers.any(u, u.id == 'A') && credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')",
      { reachable: true, ways: [[{ count: 1, anyOf: ["D"] }]] },
    ],
    [
      "approvers.any(u, u.id == 'B') || approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'C')",
      { reachable: true, ways: [[{ count: 1, anyOf: ["C"] }]] },
    ],
    [
      "['T1', 'T2'].all(tag, approvers.any(u, u.tags.contains(tag)))",
      { reachable: true, ways: ["B", "C"].map((id) => [{ count: 1, anyOf: [id] }]) },
    ],
    [
      "approvers[0].id == 'A' && approvers[0..2].count() == 2",
      { reachable: true, ways: ["B", "C", "D", "E"].map((id) => [{ count: 1, anyOf: [id] }]) },
    ],
  ];
  for (const [consensus, expected] of cases) {
    const found = outlook(consensus, team, ["A"]);
    assert.deepEqual(found, expected, consensus);
  }
});

test("more approvals do not help", () => {
  for (const consensus of [
    "false",
    "approvers.any(u, u.id == 'B')",
    "approvers.any(u, u.id == 'Nobody') && approvers.any(u, u.id == 'A')",
    "approvers.count() >= 6",
    "approvers.count() < 1",
    "!approvers.any(u, u.id == 'A')",
    "approvers.all(u, u.id == 'B')",
    "approvers.filter(u, u.tags.contains('T2')).count() >= 2",
    "approvers.any(u, u.tags[0] == 'T2' && u.id == 'E') && approvers.count() >= 2",
    "credentials.any(c, c.public_key == 'B-key-0')",
  ]) {
    assert.deepEqual(outlook(consensus, team, ["A"]), { reachable: false, exhausted: false }, consensus);
  }
});

test("a user who has not approved may ask whether their vote counts", () => {
  const both = "approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'B')";
  assert.deepEqual(outlook(both, team, ["A"], "B"), { reachable: true, ways: [[{ count: 1, anyOf: ["B"] }]] });
  assert.equal(outlook(both, team, ["A"], "C").reachable, false);
  assert.equal(outlook(both, team, ["A"], "gone").reachable, false);
  assert.deepEqual(outlook(both, team, [], "A"), {
    reachable: true,
    ways: [
      [
        { count: 1, anyOf: ["A"] },
        { count: 1, anyOf: ["B"] },
      ],
    ],
  });
  const passkey = "credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR') && approvers.count() >= 2";
  assert.deepEqual(outlook(passkey, team, ["A"], "D"), { reachable: true, ways: [[{ count: 1, anyOf: ["D"] }]] });
});

test("each approver and each credential is there once", () => {
  const [, , , d] = team as [Voter, Voter, Voter, Voter];
  const facts = consensusFacts([approval(d, 0), approval(d, 1), approval(d, 0)]);
  assert.deepEqual(
    facts.approvers.map(({ id }) => id),
    ["D"],
  );
  assert.deepEqual(
    facts.credentials.map(({ id }) => id),
    ["D-0", "D-1"],
  );
});

// Expressions over five users, generated from a list of choices.

function consensusFrom(choices: number[]): string {
  let next = 0;
  const pick = (count: number): number => (choices[next++] ?? 0) % count;
  const predicate = (variable: string, depth: number): string => {
    const id = `${variable}.id == '${"ABCDE"[pick(5)]}'`;
    const tag = `${variable}.tags.contains('T${pick(2) + 1}')`;
    const listed = `${variable}.id in ['${"ABCDE"[pick(5)]}', '${"ABCDE"[pick(5)]}']`;
    const combined =
      depth > 0 ? `(${predicate(variable, 0)} ${pick(2) ? "&&" : "||"} !(${predicate(variable, 0)}))` : id;
    return [id, tag, listed, combined, `${variable}.tags[0] == 'T1'`][pick(20) === 0 ? 4 : pick(4)] as string;
  };
  const clause = (depth: number): string => {
    switch (pick(depth > 0 ? 12 : 6)) {
      case 0:
        return `approvers.any(u, ${predicate("u", 1)})`;
      case 1:
        return `approvers.all(u, ${predicate("u", 1)})`;
      case 2:
        return `approvers.filter(u, ${predicate("u", 1)}).count() ${["==", ">=", "<", "!="][pick(4)]} ${pick(4)}`;
      case 3:
        return `approvers.count() ${["==", ">=", "<="][pick(3)]} ${pick(6)}`;
      case 4:
        return `credentials.${["any", "all"][pick(2)]}(c, c.type ${["==", "!="][pick(2)]} '${["P", "W"][pick(2)]}')`;
      case 5:
        return `approvers.filter(u, ${predicate("u", 0)}).count() >= credentials.filter(c, c.type == 'W').count()`;
      case 6:
        return `!(${clause(depth - 1)})`;
      case 7:
        return `(${clause(depth - 1)} || ${clause(depth - 1)})`;
      case 8:
        return `['T1', 'T2'].${["all", "any"][pick(2)]}(t, approvers.any(u, u.tags.contains(t)))`;
      case 9:
        return `['B', 'C'].filter(id, approvers.count() > ${pick(4)}).any(id, id != 'B') ${["==", "!="][pick(2)]} ${pick(2) === 0}`;
      case 10:
        return `approvers.any(u, credentials.any(c, c.user_id == u.id && c.type == 'W'))`;
      default:
        return `${clause(depth - 1)} && ${clause(depth - 1)}`;
    }
  };
  return clause(3);
}

/** Tries every set of users with every choice of credentials. */
function isReachable(consensus: string, approvals: Approval[], voters: Voter[], pivotId: string): boolean {
  const program = compile(consensus, "consensus");
  const holds = (all: Approval[]): boolean => {
    try {
      return program.evaluate(consensusFacts(all), new Budget(Number.POSITIVE_INFINITY));
    } catch (error) {
      if (error instanceof PolicyError) return false;
      throw error;
    }
  };
  const present = new Set(approvals.map(({ user }) => user.id));
  let sets: Approval[][] = [approvals];
  for (const user of voters) {
    if (present.has(user.id)) continue;
    sets = sets.flatMap((set) => [set, ...user.credentials.map((_, index) => [...set, approval(user, index)])]);
  }
  return sets.some((set) => holds(set) && !holds(set.filter(({ user }) => user.id !== pivotId)));
}

test("finds a way exactly where trying every set of approvals finds one", () => {
  const users = [
    voter("A", ["T1"], ["P"]),
    voter("B", ["T2"], ["P", "W"]),
    voter("C", ["T2"], ["W"]),
    voter("D", ["T1", "T2"], ["P", "W"]),
    voter("E", [], ["P"]),
  ];
  const tally = { reachable: 0, not: 0 };
  fc.assert(
    fc.property(
      fc.array(fc.nat(1_000_000), { minLength: 30, maxLength: 30 }),
      fc.subarray(["A", "B", "C", "D", "E"], { minLength: 1, maxLength: 3 }),
      (choices, approved) => {
        const consensus = consensusFrom(choices);
        const approvals = approved.map((id) => approval(users.find((user) => user.id === id) as Voter));
        const pivotId = approved[0] as string;
        const found = consensusOutlook(compile(consensus, "consensus"), approvals, users, pivotId, new Budget(1e9));
        const expected = isReachable(consensus, approvals, users, pivotId);
        assert.equal(found.reachable, expected, `${consensus} after ${approved}`);
        tally[expected ? "reachable" : "not"]++;
      },
    ),
    { numRuns: 1500 },
  );
  assert.ok(tally.reachable > 200 && tally.not > 200, JSON.stringify(tally));
});

test("the search is bounded, and large organizations are searched by kinds of users", () => {
  const users = Array.from({ length: 100 }, (_, index) => voter(`U${index}`, [`T${index % 3}`, `S${index}`]));
  const started = process.threadCpuUsage();
  const quorum = "approvers.count() >= 60 && approvers.filter(u, u.tags.contains('T1')).count() >= 20";
  assert.equal(outlook(quorum, users, ["U0"]).reachable, true);
  assert.equal(outlook("approvers.count() >= 101", users, ["U0"]).reachable, false);
  const each = users.slice(1, 41).map(({ id }) => `approvers.any(u, u.id == '${id}')`);
  assert.equal(outlook(`approvers.count() >= 41 && ${each.join(" && ")}`, users, ["U0"]).reachable, true);
  assert.deepEqual(outlook(`approvers.any(u, u.id == 'U0') && false || ${each.join(" || ")}`, users, ["U0"]), {
    reachable: false,
    exhausted: true,
  });
  const credentials = users.map(({ id }) =>
    voter(
      id,
      [],
      Array.from({ length: 10 }, (_, index) => `K${index}`),
    ),
  );
  const pairs = "credentials.all(c, credentials.filter(d, d.type == c.type).count() == 1) && credentials.count() >= 11";
  assert.equal(outlook(pairs, credentials, ["U0"]).reachable, false);
  const { user, system } = process.threadCpuUsage(started);
  assert.ok(user + system < 5_000_000, `${user + system} microseconds of this thread's work`);
});

test("steps are shared by all searches of a decision, and none is begun without them", () => {
  const budget = new Budget(40);
  const program = compile("approvers.count() >= 4 && approvers.any(u, u.id == 'A')", "consensus");
  const approvals = [approval(team[0] as Voter)];
  const found = consensusOutlook(program, approvals, team, "A", budget);
  assert.deepEqual(found, { reachable: false, exhausted: true });
  assert.deepEqual(consensusOutlook(program, approvals, team, "A", budget), { reachable: false, exhausted: true });
});
