import { createExpressionCache } from "../src/policy/cache.ts";
import type { Voter } from "../src/policy/consensus.ts";
import { type DecisionRequest, decide, type Policy } from "../src/policy/decision.ts";

/**
 * Decisions per second over 0, 10, 100 and 1,000 policies of ordinary size, without a server: the policies of a team that
 * signs on several chains. One JSON line per scenario; the expressions are compiled before the clock starts.
 */

const RUN_MS = 1000;

const users: Voter[] = Array.from({ length: 20 }, (_, index) => ({
  id: `user-${index}`,
  tags: [`team-${index % 4}`],
  credentials: [{ id: `key-${index}`, user_id: `user-${index}`, type: "CREDENTIAL_TYPE_API_KEY_P256" }],
}));

/** Most policies are for someone or something else; some are nearly complete; the last one allows. */
const shapes: ((index: number) => Omit<Policy, "policyId">)[] = [
  (index) => ({
    effect: "EFFECT_ALLOW",
    consensus: `approvers.any(user, user.id == 'user-${index}')`,
    condition: `activity.kind == 'SIGN_TRANSACTION' && wallet.id == 'wallet-${index}' && eth.tx.value < 1000000000000000000`,
  }),
  (index) => ({
    effect: "EFFECT_ALLOW",
    consensus: `approvers.filter(user, user.tags.contains('team-${index % 4}')).count() >= 2`,
    condition: `eth.tx.to in ['0x${"a1".repeat(20)}', '0x${index.toString(16).padStart(40, "0")}'] && eth.tx.chain_id == 1`,
  }),
  (index) => ({
    effect: "EFFECT_DENY",
    condition: `activity.action == 'SIGN' && eth.tx.data[0..10] == '0x${index.toString(16).padStart(8, "0")}'`,
  }),
  (index) => ({
    effect: "EFFECT_ALLOW",
    consensus: "approvers.count() >= 2",
    condition: `activity.resource == 'WALLET' && activity.action == 'CREATE' || wallet.label == 'label-${index}'`,
    time: "CronSpan('0 9 * * 1-5', '8h', 'America/New_York')",
  }),
  (index) => ({
    effect: "EFFECT_ALLOW",
    consensus: `approvers.any(user, user.id == 'user-0') && approvers.any(user, user.id == 'user-${index % 20}')`,
    condition: "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2' && wallet.id == 'wallet-x'",
  }),
];

const errors: (index: number) => Omit<Policy, "policyId"> = (index) => ({
  effect: "EFFECT_ALLOW",
  condition: `private_key.id == 'key-${index}'`,
});

function requestWith(count: number, make: (index: number) => Omit<Policy, "policyId">): DecisionRequest {
  const [submitter] = users as [Voter];
  return {
    policies: Array.from({ length: count }, (_, index) => ({ policyId: `policy-${index}`, ...make(index) })),
    facts: {
      activity: {
        type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
        kind: "SIGN_TRANSACTION",
        resource: "PRIVATE_KEY",
        action: "SIGN",
        params: { type: "TRANSACTION_TYPE_ETHEREUM" },
      },
      wallet: { id: "wallet-x", imported: false, exported: false, label: "treasury" },
      eth: {
        tx: {
          to: `0x${"A1".repeat(20)}`,
          data: `0xa9059cbb${"00".repeat(64)}`,
          value: 5n,
          gas: 21_000,
          nonce: 7,
          chain_id: 1,
          type: "TYPE_2",
        },
      },
    },
    nowMs: Date.UTC(2026, 0, 5, 15),
    submitterId: submitter.id,
    approvals: [{ user: submitter, credential: submitter.credentials[0] }],
    voters: users,
  };
}

function measure(request: DecisionRequest): { perSecond: number; p50Us: number; p99Us: number } {
  const cache = createExpressionCache();
  for (let warm = 0; warm < 200; warm++) decide(request, cache);
  const times: number[] = [];
  const end = performance.now() + RUN_MS;
  for (let before = performance.now(); before < end; ) {
    decide(request, cache);
    const after = performance.now();
    times.push(after - before);
    before = after;
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.round((times[Math.floor(times.length * share)] ?? 0) * 1e5) / 100;
  return { perSecond: Math.round((times.length / RUN_MS) * 1000), p50Us: at(0.5), p99Us: at(0.99) };
}

const ordinary = (index: number): Omit<Policy, "policyId"> =>
  (shapes[index % shapes.length] as (typeof shapes)[number])(index);

for (const policies of [0, 10, 100, 1000]) {
  process.stdout.write(
    `${JSON.stringify({ scenario: "ordinary", policies, ...measure(requestWith(policies, ordinary)) })}\n`,
  );
}
process.stdout.write(
  `${JSON.stringify({ scenario: "all in error", policies: 100, ...measure(requestWith(100, errors)) })}\n`,
);
