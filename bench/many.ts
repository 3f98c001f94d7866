import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { apiKeyParams, Client, generateApiKey } from "../test/support/client.ts";
import type { Party } from "./load.ts";
import { type Product, startLoad } from "./processes.ts";
import { type BenchHooks, inTurns, measureRound, type Round, type RoundOptions, startServer } from "./rounds.ts";
import { type ScenarioName, scenarioNames } from "./scenarios.ts";
import { median, rounded } from "./statistics.ts";

/**
 * What it costs that many different parties ask, each with its own API key and its own secp256k1 key, against the same requests of one of
 * them, in turns on one server: sub-organizations with a root user each, and users of one organization, whom a policy lets.
 */

export interface ManyOptions extends RoundOptions {
  parties: number;
}

const kinds = ["organizations", "users"] as const;
type Kind = (typeof kinds)[number];

export interface ManyBenchResult {
  engine: DatabaseKind;
  of: Kind;
  scenario: ScenarioName;
  parties: number;
  perSecond: [one: number, many: number];
  p50Ms: [one: number, many: number];
  p99Ms: [one: number, many: number];
  /** Milliseconds of the server's and the signer's CPU per 1,000 requests. */
  cpuMs: [one: number, many: number];
  /** Of requests a second, many to one; the median of the rounds' pairs. */
  ratio: number;
}

export async function benchMany(options: ManyOptions, { report, onStart }: BenchHooks<ManyBenchResult>): Promise<void> {
  const { connections, rounds } = options;
  for (const engine of options.engines) {
    for (const of of kinds) {
      const folder = join(options.folder, of);
      const settings = { KEYSTEAD_CONFIG: writeQuotas(folder, options.parties) };
      const product = await startServer(engine, of, { ...options, folder, settings }, onStart);
      const parties = await makeParties[of](product, options.parties);
      for (const scenario of scenarioNames) {
        const loads = [parties.slice(0, 1), parties].map((some) => startLoad({ scenario, parties: some, connections }));
        for (const load of loads) onStart(() => load.stop());
        const pairs = await inTurns(rounds, (side) =>
          measureRound(loads[side] as (typeof loads)[number], product, options),
        );
        await Promise.all(loads.map((load) => load.stop()));
        report({ engine, of, scenario, parties: parties.length, ...figuresOf(pairs) });
      }
      await product.stop();
    }
  }
}

/** An organization may have as many users and private keys, and the few that were there; returns the configuration file. */
function writeQuotas(folder: string, parties: number): string {
  const file = join(folder, "quotas.json");
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify({ quotas: { users: parties + ROOM, privateKeys: parties + ROOM } }));
  return file;
}

const makeParties: Record<Kind, (product: Product, count: number) => Promise<Party[]>> = {
  organizations: (product, count) => inPortions(count, async () => [await makeOrganization(rootOf(product))]),

  async users(product, count) {
    const root = rootOf(product);
    await root.result("create_policy", {
      policyName: "Whoever has a name",
      effect: "EFFECT_ALLOW",
      consensus: "approvers.any(user, user.id != '')",
      condition: "activity.kind == 'UPDATE_USER_NAME' || activity.action == 'SIGN'",
      notes: "",
    });
    return inPortions(count, (some) => makeUsers(root, some));
  },
};

const rootOf = ({ port, subject, key }: Product) => new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);

const ROOM = 10;
/** As many as one activity makes. */
const PORTION = 10;

async function inPortions(count: number, make: (count: number) => Promise<Party[]>): Promise<Party[]> {
  const parties: Party[] = [];
  while (parties.length < count) parties.push(...(await make(Math.min(PORTION, count - parties.length))));
  return parties;
}

async function makeOrganization(parent: Client): Promise<Party> {
  const key = generateApiKey();
  const { subOrganizationId: organizationId, rootUserIds } = await parent.result("create_sub_organization", {
    subOrganizationName: "One of many",
    rootUsers: [userParams(key)],
    rootQuorumThreshold: 1,
  });
  const [privateKeyId] = await makePrivateKeys(parent.with({ key, organizationId }), 1);
  return { subject: { organizationId, userId: rootUserIds[0], privateKeyId: privateKeyId as string }, key };
}

async function makeUsers(root: Client, count: number): Promise<Party[]> {
  const keys = Array.from({ length: count }, generateApiKey);
  const users = keys.map((key) => ({ ...userParams(key), userTags: [] }));
  const { userIds } = await root.result("create_users", { users });
  const privateKeyIds = await makePrivateKeys(root, count);
  const { organizationId } = root;
  return keys.map((key, index) => ({
    subject: { organizationId, userId: userIds[index], privateKeyId: privateKeyIds[index] as string },
    key,
  }));
}

const userParams = (key: Client["key"]) => ({
  userName: "One of many",
  apiKeys: [apiKeyParams(key)],
  authenticators: [],
  oauthProviders: [],
});

async function makePrivateKeys(client: Client, count: number): Promise<string[]> {
  const { privateKeys } = await client.result("create_private_keys", {
    privateKeys: Array.from({ length: count }, () => ({
      privateKeyName: `Key ${generateApiKey().publicKey}`,
      curve: "CURVE_SECP256K1",
      addressFormats: [],
      privateKeyTags: [],
    })),
  });
  return privateKeys.map(({ privateKeyId }: { privateKeyId: string }) => privateKeyId);
}

function figuresOf(pairs: readonly [Round, Round][]) {
  const middle = (pick: (round: Round) => number, digits: number): [number, number] => [
    rounded(median(pairs.map(([one]) => pick(one))), digits),
    rounded(median(pairs.map(([, many]) => pick(many))), digits),
  ];
  return {
    perSecond: middle(({ perSecond }) => perSecond, 0),
    p50Ms: middle(({ p50Ms }) => p50Ms, 1),
    p99Ms: middle(({ p99Ms }) => p99Ms, 1),
    cpuMs: middle(({ cpuMs }) => cpuMs, 0),
    ratio: rounded(median(pairs.map(([one, many]) => many.perSecond / one.perSecond)), 2),
  };
}

export function lineOfMany(result: ManyBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, of, scenario, parties, perSecond, p50Ms, p99Ms, cpuMs, ratio } = result;
  const with1 = ([one, many]: [number, number], unit: string) => `${many}${unit} (${one}${unit} of one)`;
  return `${engine} ${scenario} of ${parties} ${of}: ${with1(perSecond, "/s")}, x${ratio}; p50 ${with1(p50Ms, " ms")}, p99 ${with1(p99Ms, " ms")}; CPU ${with1(cpuMs, " ms")} per 1,000`;
}
