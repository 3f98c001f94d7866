import assert from "node:assert/strict";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "./authenticator.ts";
import {
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
  type TestAnswer,
} from "./client.ts";
import type { TestServer } from "./server.ts";
import { createWorld, type Member } from "./world.ts";

/** Votes on one activity as data: who may do what, who votes in which order, and what is to come of it. */
export interface Scenario {
  name: string;
  /** Plain users beside `root`, `stranger` and `parent`, whom every scenario has; each with one API key. */
  people?: Record<string, { tags?: string[]; passkey?: true }>;
  /** The root quorum; `root` alone unless said. */
  quorum?: { threshold: number; members: string[] };
  /** By name. Text in braces stands for what it names, see `fill`. */
  policies?: Record<string, { effect?: "DENY"; condition?: string; consensus?: string; time?: string }>;
  /** Path and parameters; signing with the private key `{key}` unless said. */
  activity?: [path: string, parameters: object];
  steps: Step[];
}

type Step =
  /** A vote, and what the activity is then: a status without its prefix, or the HTTP status of a refusal. */
  | (Vote & Expectation)
  /** A change by the root quorum. */
  | { meanwhile: [path: string, parameters: object] }
  | { hoursLater: number };

interface Vote {
  /** A name; `name+passkey` stamps with that user's passkey. */
  who: string;
  does: "submits" | "approves" | "rejects";
}

interface Expectation {
  becomes: string | number;
  /** The outcomes of this vote by policy, without their prefix; none where no policy is asked. */
  outcomes?: Record<string, string>;
  /** `a` for canApprove and `r` for canReject, by who looks. Whoever is not named may neither. */
  may?: Record<string, string>;
  /** What the error of a refusal says. */
  says?: RegExp;
}

interface Stage {
  root: Client;
  clients: Map<string, Client>;
  members: string[];
  names: Map<string, string>;
  activity: Json;
  now: () => number;
}

/** A clock that scenarios move forwards, for `startTestServer`. */
export interface MovedClock {
  offsetMs: number;
}

export async function play(server: TestServer, clock: MovedClock, scenario: Scenario): Promise<void> {
  clock.offsetMs = 0;
  const stage = await setUp(server, clock, scenario);
  const { activity: [path, parameters] = SIGNING } = scenario;
  const body = stage.root.submitBody(path, JSON.parse(fill(JSON.stringify(parameters), stage)));
  for (const [index, step] of scenario.steps.entries()) {
    const where = `${scenario.name}, step ${index + 1}: ${JSON.stringify(step)}`;
    if ("hoursLater" in step) clock.offsetMs += step.hoursLater * 3_600_000;
    else if ("meanwhile" in step) await byQuorum(stage, ...step.meanwhile);
    else await expectAfter(stage, step, await cast(stage, step, path, body), where);
  }
  clock.offsetMs = 0;
}

const SIGNING: [string, object] = [
  "sign_raw_payload",
  {
    signWith: "{key}",
    payload: "hello",
    encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
    hashFunction: "HASH_FUNCTION_KECCAK256",
  },
];

async function setUp(server: TestServer, clock: MovedClock, scenario: Scenario): Promise<Stage> {
  const { people = {}, quorum, policies = {} } = scenario;
  const { root, reader, user } = await createWorld(server, "subOrganizations");
  const clients = new Map([
    ["root", root.client],
    ["parent", reader],
    ["stranger", user.client],
  ]);
  const names = new Map([
    ["root", root.userId],
    ["stranger", user.userId],
    ["root.key", root.client.key.publicKey],
    ["new.key", generateApiKey().publicKey],
  ]);
  const key = { privateKeyName: "treasury", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await root.client.result("create_private_keys", { privateKeys: [key] });
  names.set("key", privateKeys[0].privateKeyId);
  for (const tag of new Set(Object.values(people).flatMap(({ tags = [] }) => tags))) {
    const { userTagId } = await root.client.result("create_user_tag", { userTagName: tag, userIds: [] });
    names.set(tag, userTagId);
  }
  for (const [name, { tags = [], passkey }] of Object.entries(people)) {
    const userTags = tags.map((tag) => names.get(tag) as string);
    const added = await addPerson(root.client, name, userTags);
    clients.set(name, added.client);
    names.set(name, added.userId).set(`${name}.key`, added.client.key.publicKey);
    if (passkey) clients.set(`${name}+passkey`, await addPasskey(root.client, added));
  }
  const stage: Stage = {
    root: root.client,
    clients,
    names,
    members: ["root"],
    activity: undefined,
    now: () => Date.now() + clock.offsetMs,
  };
  for (const [name, { effect = "ALLOW", condition = "activity.action == 'SIGN'", ...rest }] of Object.entries(
    policies,
  )) {
    const policy = { policyName: name, effect: `EFFECT_${effect}`, condition, notes: "", ...rest };
    const { policyId } = await root.client.result("create_policy", JSON.parse(fill(JSON.stringify(policy), stage)));
    assert.ok(!names.has(name), `${name} is the name of two things`);
    names.set(name, policyId);
  }
  if (quorum) {
    const userIds = quorum.members.map((member) => names.get(member));
    await root.client.result("update_root_quorum", { threshold: quorum.threshold, userIds });
    stage.members = quorum.members.slice(0, quorum.threshold);
  }
  return stage;
}

async function addPerson(root: Client, userName: string, userTags: string[]): Promise<Member> {
  const key = generateApiKey();
  const user = { userName, apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [], userTags };
  const { userIds } = await root.result("create_users", { users: [user] });
  return { userId: userIds[0], client: root.with({ key }) };
}

/** Registers a passkey of the user; resolves to a client that stamps with it. */
export async function addPasskey(root: Client, { userId, client }: Member): Promise<Client> {
  const passkey = { authenticator: createAuthenticator(), origin: "https://wallet.example", rpId: "wallet.example" };
  await root.result("create_authenticators", { userId, authenticators: [authenticatorParams(passkey)] });
  return client.withPasskey(passkey);
}

/** `{ada}` is a user's id, `{ada.key}` the public key, `{ops}` a tag's id, `{both}` a policy's, `{key}` the private key's. */
function fill(text: string, { names }: Pick<Stage, "names">): string {
  return text.replace(/\{([\w.]+)\}/g, (_, name: string) => names.get(name) ?? assert.fail(`unknown name ${name}`));
}

async function byQuorum(stage: Stage, path: string, parameters: object): Promise<void> {
  const filled = JSON.parse(fill(JSON.stringify(parameters), stage));
  const [first, ...others] = stage.members.map((member) => stage.clients.get(member) as Client);
  const options = () => ({ timestampMs: String(stage.now()) });
  let { body } = await (first as Client).submit(path, filled, options());
  for (const client of others) {
    body = (await client.submit("approve_activity", { fingerprint: body.activity.fingerprint }, options())).body;
  }
  assert.equal(body.activity?.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(body));
}

async function cast(stage: Stage, { who, does }: Vote, path: string, body: string): Promise<TestAnswer> {
  const client = stage.clients.get(who) ?? assert.fail(who);
  if (does === "submits") return client.post(`/public/v1/submit/${path}`, body);
  const { fingerprint } = stage.activity;
  const vote = does === "approves" ? "approve_activity" : "reject_activity";
  return client.submit(vote, { fingerprint }, { timestampMs: String(stage.now()), more: { nonce: newId() } });
}

async function expectAfter(stage: Stage, step: Expectation, answer: TestAnswer, where: string): Promise<void> {
  const { becomes, says } = step;
  const said = `${where}: ${JSON.stringify(answer.body)}`;
  if (says) assert.match(JSON.stringify(answer.body), says, said);
  if (typeof becomes === "number") {
    assert.equal(answer.status, becomes, said);
    if (step.outcomes)
      assert.deepEqual(outcomesOf(stage, answer.body.details[0].policyEvaluations), step.outcomes, said);
    return;
  }
  assert.equal(answer.body.activity?.status, `ACTIVITY_STATUS_${becomes}`, said);
  stage.activity = answer.body.activity;
  const activityId = stage.activity.id;
  const rows = (await stage.root.read("get_policy_evaluations", { activityId })).policyEvaluations;
  if (step.outcomes) assert.deepEqual(outcomesOf(stage, rows.at(-1)?.policyEvaluations ?? []), step.outcomes, where);
  for (const [name, client] of stage.clients) {
    if (name.includes("+")) continue;
    const { status, body } = await client.query("get_activity", { activityId });
    if (status === 401) continue;
    const { canApprove, canReject } = body.activity;
    const may = `${canApprove ? "a" : ""}${canReject ? "r" : ""}`;
    assert.equal(may, step.may?.[name] ?? "", `${where}: what ${name} may`);
  }
}

function outcomesOf({ names }: Stage, evaluations: Json[]): Record<string, string> {
  const nameOf = new Map([...names].map(([name, id]) => [id, name]));
  return Object.fromEntries(
    evaluations.map(({ policyId, outcome }) => [nameOf.get(policyId) ?? policyId, outcome.replace("OUTCOME_", "")]),
  );
}
