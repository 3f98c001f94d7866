import { MAX_POLICIES } from "../src/kernel/limits.ts";
import type { Voter } from "../src/policy/approvals.ts";
import { Budget } from "../src/policy/budget.ts";
import { createExpressionCache } from "../src/policy/cache.ts";
import { type DecisionRequest, evaluatePolicies } from "../src/policy/decision.ts";
import type { Policy } from "../src/policy/policy.ts";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { addUser, Client } from "../test/support/client.ts";
import { type Load, type Product, startLoad } from "./processes.ts";
import { type BenchHooks, measureRound, type Round, type RoundOptions, startServer } from "./rounds.ts";
import { median, percentile, rounded } from "./statistics.ts";

/**
 * What policies cost: decisions per second over 0, 10, 100 and 1,000 policies of ordinary size, without a server; and durable
 * writes of a user whom one of 100 policies lets, against the same writes of the root user, whom no policy is asked about.
 */

export type PolicyBenchResult =
  | {
      scenario: "decisions" | "decisions-in-error";
      policies: number;
      perSecond: number;
      p50Us: number;
      p99Us: number;
    }
  | {
      engine: string;
      scenario: "writes";
      policies: number;
      perSecond: number;
      /** The same without policies. */
      none: number;
      ratio: number;
      p50Ms: number;
      p99Ms: number;
      /** CPU milliseconds of server and signer per 1,000 writes, without policies and with them. */
      cpuMs: [none: number, policies: number];
    };

const MICRO_MS = 1000;

export async function benchPolicies(options: RoundOptions, hooks: BenchHooks<PolicyBenchResult>): Promise<void> {
  for (const policies of [0, 10, 100, 1000]) {
    hooks.report({ scenario: "decisions", policies, ...measureDecisions(requestWith(policies, ordinary)) });
  }
  const policies = 100;
  hooks.report({ scenario: "decisions-in-error", policies, ...measureDecisions(requestWith(policies, inError)) });
  for (const engine of options.engines) hooks.report(await benchWrites(engine, options, hooks));
}

async function benchWrites(
  engine: DatabaseKind,
  options: RoundOptions,
  { onStart }: BenchHooks<PolicyBenchResult>,
): Promise<PolicyBenchResult> {
  const product = await startServer(engine, "policies", options, onStart);
  const key = await addWriter(product);
  const loads = [product.key, key].map((each) =>
    startLoad({
      scenario: "write",
      parties: [{ subject: product.subject, key: each }],
      connections: options.connections,
    }),
  ) as [Load, Load];
  for (const load of loads) onStart(() => load.stop());
  const rounds: [Round, Round][] = [];
  for (let round = 0; round < options.rounds; round++) {
    rounds.push([await measureRound(loads[0], product, options), await measureRound(loads[1], product, options)]);
  }
  await Promise.all(loads.map((load) => load.stop()));
  await product.stop();
  const middle = (side: 0 | 1, pick: (round: Round) => number) => median(rounds.map((pair) => pick(pair[side])));
  const [none, perSecond] = [middle(0, (one) => one.perSecond), middle(1, (one) => one.perSecond)];
  return {
    engine,
    scenario: "writes",
    policies: MAX_POLICIES,
    perSecond: Math.round(perSecond),
    none: Math.round(none),
    // Neighbours in time, as what else the machine does changes from round to round.
    ratio: rounded(median(rounds.map(([bare, asked]) => asked.perSecond / bare.perSecond)), 2),
    p50Ms: rounded(
      middle(1, (one) => one.p50Ms),
      1,
    ),
    p99Ms: rounded(
      middle(1, (one) => one.p99Ms),
      1,
    ),
    cpuMs: [Math.round(middle(0, (one) => one.cpuMs)), Math.round(middle(1, (one) => one.cpuMs))],
  };
}

/** A user whom one of as many policies as there may be lets rename users; resolves to the key. */
async function addWriter({ port, subject, key }: Product): Promise<Client["key"]> {
  const root = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
  const writer = await addUser(root, "Writer");
  const others = Array.from({ length: MAX_POLICIES - 1 }, (_, index) => forOthers(index));
  const allowing: Omit<Policy, "policyId"> = {
    effect: "EFFECT_ALLOW",
    consensus: `approvers.any(user, user.id == '${writer.userId}')`,
    condition: "activity.kind == 'UPDATE_USER_NAME'",
  };
  const policies = [...others, allowing].map((policy, index) => ({
    policyName: `Policy ${index}`,
    notes: "",
    ...policy,
  }));
  await root.result("create_policies", { policies });
  return writer.client.key;
}

/** Policies of an organization in which every team has its own; none of them lets the writer, and a third is about wallets. */
const forOthers = (index: number): Omit<Policy, "policyId"> =>
  [
    {
      effect: "EFFECT_ALLOW" as const,
      consensus: `approvers.any(user, user.id == 'user-${index}')`,
      condition: "activity.resource == 'PRIVATE_KEY' && activity.action == 'SIGN'",
    },
    {
      effect: "EFFECT_DENY" as const,
      condition: `activity.kind in ['EXPORT_WALLET', 'EXPORT_PRIVATE_KEY'] || activity.type == 'ACTIVITY_TYPE_${index}'`,
    },
    {
      effect: "EFFECT_ALLOW" as const,
      consensus: `approvers.filter(user, user.tags.contains('team-${index}')).count() >= 2`,
      condition: `activity.kind == 'SIGN_TRANSACTION' && wallet.id == 'wallet-${index}'`,
    },
  ][index % 3] as Omit<Policy, "policyId">;

/** One line, for programs or for people. */
export function lineOfPolicies(result: PolicyBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  if (result.scenario !== "writes") {
    const { scenario, policies, perSecond, p50Us, p99Us } = result;
    return `${scenario.padEnd(18)} ${String(policies).padStart(5)} policies ${perSecond}/s, p50 ${p50Us} us, p99 ${p99Us} us`;
  }
  const { engine, policies, perSecond, none, ratio, p50Ms, p99Ms, cpuMs } = result;
  const cpu = `CPU per 1,000 ${cpuMs[0]} -> ${cpuMs[1]} ms`;
  return `${engine} writes with ${policies} policies ${perSecond}/s, with none ${none}/s (x${ratio}); p50 ${p50Ms} ms, p99 ${p99Ms} ms; ${cpu}`;
}

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

const inError: (index: number) => Omit<Policy, "policyId"> = (index) => ({
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

function measureDecisions(request: DecisionRequest): { perSecond: number; p50Us: number; p99Us: number } {
  // The expressions are compiled before the clock starts, as they are in a server.
  const cache = createExpressionCache();
  const budget = new Budget(Number.POSITIVE_INFINITY);
  for (let warm = 0; warm < 200; warm++) evaluatePolicies(request, cache, budget);
  const times: number[] = [];
  const end = performance.now() + MICRO_MS;
  for (let before = performance.now(); before < end; ) {
    evaluatePolicies(request, cache, budget);
    const after = performance.now();
    times.push(after - before);
    before = after;
  }
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => rounded(percentile(sorted, share) * 1000, 2);
  return { perSecond: Math.round((times.length / MICRO_MS) * 1000), p50Us: at(0.5), p99Us: at(0.99) };
}

function ordinary(index: number): Omit<Policy, "policyId"> {
  return (shapes[index % shapes.length] as (typeof shapes)[number])(index);
}
