import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Change, effectsOf } from "../../src/authority/changes.ts";
import { conditionsWithin } from "../../src/authority/decisions/conditions.ts";
import { keyOf, type PartRef } from "../../src/authority/state.ts";
import { type LoadedParts, viewAfter, viewOf } from "../../src/authority/view.ts";
import { operations } from "../../src/capabilities/index.ts";
import { compareRows } from "../../src/engine/authority/consistency.ts";
import { knownAuthority } from "../../src/engine/authority/known.ts";
import { loadInto, onAuthority } from "../../src/engine/authority/load.ts";
import { kindsOfChanges, project } from "../../src/engine/authority/project.ts";
import { traceAuthority } from "../../src/engine/authority/provenance/trace.ts";
import { apiKeyKind } from "../../src/engine/identity/api-key-kind.ts";
import type { ActivityOperation, ActivityVersion, Organization } from "../../src/engine/operations.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_DECISION_STEPS } from "../../src/kernel/limits.ts";
import { Budget } from "../../src/policy/budget.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import type { Reader, Transactor } from "../../src/storage/engine.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { engines, testPostgresUrl } from "../support/server.ts";

/**
 * Random sequences of operations: what the pure changes make of the state is what the tables say after the projector has
 * written them, part by part, and a refused operation leaves every part as it was. The same of what the functions of one transaction
 * hand on to each other.
 */

const UNKNOWN = "00000000-0000-7000-8000-000000000000";
const USERS = 4;
const KEYS = 3;

const operationNamed = (path: string) => operations.find((each) => each.path === path) as ActivityOperation;

const MAX_INDEX = 5;
const index = fc.nat({ max: MAX_INDEX });
const indexes = fc.array(index, { maxLength: 4 });
const name = fc.constantFrom("a", "b", "Ada", "Grace");
const policyName = fc.constantFrom(..."abcdefgh");
const expression = fc.constantFrom("", "true", "1 == 1");
const condition = fc.constantFrom(
  "true",
  "false",
  "activity.kind == 'DELETE_MFA_POLICY'",
  "activity.params.colour == 'x'",
);
const methods = fc.array(fc.constantFrom("API_KEY", "PASSKEY", "SESSION", "EMAIL_OTP"), { maxLength: 2 });

/** A request in indexes of what there is; which ids they stand for is decided when it is made. */
const requests = fc.oneof(
  fc.record({ path: fc.constantFrom("create_user_tag", "create_private_key_tag"), name, members: indexes }),
  fc.record({
    path: fc.constantFrom("update_user_tag", "update_private_key_tag"),
    tag: index,
    name: fc.option(name, { nil: undefined }),
    members: indexes,
    others: indexes,
  }),
  fc.record({
    path: fc.constantFrom("delete_user_tags", "delete_private_key_tags"),
    tags: fc.array(index, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    path: fc.constant("create_invitations"),
    emails: fc.array(fc.constantFrom("a@b.cd", "A@b.cd", "e@f.gh"), { minLength: 1, maxLength: 2 }),
    tags: indexes,
    sender: index,
  }),
  fc.record({ path: fc.constant("delete_invitation"), invitation: index }),
  fc.record({ path: fc.constant("accept_invitation"), invitation: index, passkey: index }),
  fc.record({
    path: fc.constantFrom("create_users", "create_api_only_users"),
    userName: name,
    email: fc.option(fc.constantFrom("a@b.cd", "e@f.gh"), { nil: undefined }),
    apiKeys: indexes,
    expires: fc.boolean(),
    provider: fc.option(index, { nil: undefined }),
    passkey: fc.option(index, { nil: undefined }),
    tags: indexes,
  }),
  fc.record({
    path: fc.constant("update_user"),
    user: index,
    name: fc.option(name, { nil: undefined }),
    email: fc.option(fc.constantFrom("a@b.cd", "e@f.gh"), { nil: undefined }),
    tags: fc.option(indexes, { nil: undefined }),
  }),
  fc.record({
    path: fc.constantFrom("update_user_email"),
    user: index,
    address: fc.constantFrom("", "a@b.cd", "A@b.cd", "e@f.gh"),
    shows: fc.boolean(),
  }),
  fc.record({ path: fc.constant("delete_users"), users: fc.array(index, { minLength: 1, maxLength: 2 }) }),
  fc.record({
    path: fc.constant("create_api_keys"),
    user: index,
    apiKeys: fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 }),
    expires: fc.boolean(),
  }),
  fc.record({ path: fc.constant("create_authenticators"), user: index, passkey: index }),
  fc.record({ path: fc.constant("create_oauth_providers"), user: index, provider: index }),
  fc.record({
    path: fc.constantFrom("delete_api_keys", "delete_authenticators", "delete_oauth_providers"),
    credentials: fc.array(index, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ path: fc.constant("create_mfa_policy"), user: index, condition, methods, order: index }),
  fc.record({
    path: fc.constant("update_mfa_policy"),
    mfaPolicy: index,
    condition: fc.option(condition, { nil: undefined }),
    methods: fc.option(methods, { nil: undefined }),
    order: fc.option(index, { nil: undefined }),
  }),
  fc.record({ path: fc.constant("delete_mfa_policy"), mfaPolicy: index }),
  fc.record({
    path: fc.constant("update_root_quorum"),
    threshold: fc.constantFrom(1, 2),
    members: fc.array(index, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    path: fc.constantFrom("create_policy", "create_policies"),
    policies: fc.array(fc.record({ name: policyName, expression }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    path: fc.constant("update_policy"),
    policy: index,
    name: fc.option(policyName, { nil: undefined }),
    expression: fc.option(expression, { nil: undefined }),
  }),
  fc.record({
    path: fc.constantFrom("delete_policy", "delete_policies"),
    gone: fc.array(index, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    path: fc.constant("create_private_keys"),
    keys: fc.array(fc.record({ name, tags: indexes }), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ path: fc.constant("export_private_key"), key: index }),
  fc.record({ path: fc.constant("create_wallet"), walletName: name }),
  fc.record({ path: fc.constantFrom("update_wallet", "export_wallet"), wallet: index, name }),
  fc.record({
    path: fc.constant("delete_wallets"),
    walletsGone: fc.array(index, { minLength: 1, maxLength: 2 }),
    evenUnexported: fc.boolean(),
  }),
  fc.record({
    path: fc.constant("import_secrets"),
    secrets: fc.array(fc.option(policyName), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ path: fc.constant("export_secrets"), secretsOut: fc.array(index, { minLength: 1, maxLength: 2 }) }),
  fc.record({ path: fc.constant("delete_secrets"), secretsGone: fc.array(index, { minLength: 1, maxLength: 2 }) }),
  fc.record({
    path: fc.constant("delete_private_keys"),
    keysGone: fc.array(index, { minLength: 1, maxLength: 2 }),
    evenUnexported: fc.boolean(),
  }),
  fc.record({ path: fc.constant("create_session_profile"), name }),
  fc.record({
    path: fc.constant("set_organization_feature"),
    feature: index,
    value: fc.option(name, { nil: undefined }),
  }),
  fc.record({ path: fc.constant("remove_organization_feature"), feature: index }),
  fc.record({ path: fc.constant("set_ip_allowlist"), cidrs: fc.array(fc.constantFrom("10.0.0.0/24", "10.1.0.0/24")) }),
  fc.record({ path: fc.constant("remove_ip_allowlist") }),
  fc.record({ path: fc.constant("create_smart_contract_interface"), contract: index }),
  fc.record({ path: fc.constant("delete_smart_contract_interface"), contract: index }),
);
type Request = typeof requests extends fc.Arbitrary<infer R> ? R : never;

/** Requests that together make every kind of change, whatever is drawn at random. A new kind of change needs one here. */
const ofEveryKind: Request[] = [
  { path: "create_user_tag", name: "a", members: [0, 1] },
  { path: "create_private_key_tag", name: "b", members: [0] },
  { path: "update_user_tag", tag: 0, name: "b", members: [2], others: [0] },
  {
    ...{ path: "create_users", userName: "Ada", email: "a@b.cd", apiKeys: [0, 1], expires: true },
    ...{ provider: 0, passkey: 0, tags: [0] },
  },
  { path: "update_user_email", user: 0, address: "e@f.gh", shows: true },
  { path: "update_user_email", user: 0, address: "", shows: false },
  { path: "create_api_keys", user: 1, apiKeys: [10, 11], expires: false },
  { path: "delete_api_keys", credentials: [0] },
  { path: "create_authenticators", user: 1, passkey: 1 },
  { path: "delete_authenticators", credentials: [0] },
  { path: "create_oauth_providers", user: 1, provider: 1 },
  { path: "delete_oauth_providers", credentials: [0] },
  { path: "create_mfa_policy", user: 1, condition: "false", methods: ["API_KEY"], order: 1 },
  { path: "update_mfa_policy", mfaPolicy: 0, condition: "true", methods: undefined, order: 2 },
  { path: "delete_mfa_policy", mfaPolicy: 0 },
  { path: "create_policy", policies: [{ name: "a", expression: "true" }] },
  { path: "update_policy", policy: 0, name: "b", expression: "1 == 1" },
  { path: "delete_policy", gone: [0] },
  { path: "create_private_keys", keys: [{ name: "a", tags: [0] }] },
  { path: "export_private_key", key: 0 },
  { path: "delete_private_keys", keysGone: [0], evenUnexported: true },
  { path: "create_wallet", walletName: "a" },
  { path: "update_wallet", wallet: 0, name: "b" },
  { path: "export_wallet", wallet: 0, name: "b" },
  { path: "delete_wallets", walletsGone: [0], evenUnexported: true },
  { path: "import_secrets", secrets: ["a", null] },
  { path: "export_secrets", secretsOut: [0] },
  { path: "delete_secrets", secretsGone: [0] },
  { path: "create_session_profile", name: "a" },
  { path: "set_ip_allowlist", cidrs: ["10.0.0.0/24"] },
  { path: "remove_ip_allowlist" },
  { path: "create_invitations", emails: ["a@b.cd"], tags: [0], sender: 0 },
  { path: "delete_invitation", invitation: 0 },
  { path: "create_invitations", emails: ["e@f.gh"], tags: [0], sender: 0 },
  { path: "accept_invitation", invitation: 1, passkey: 3 },
  { path: "create_smart_contract_interface", contract: 1 },
  { path: "delete_smart_contract_interface", contract: 0 },
  { path: "set_organization_feature", feature: 0, value: undefined },
  { path: "remove_organization_feature", feature: 0 },
  { path: "update_root_quorum", threshold: 1, members: [0] },
  { path: "delete_user_tags", tags: [0] },
  { path: "delete_users", users: [1] },
];

const FEATURES = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_SMS_AUTH", "FEATURE_NAME_WEBAUTHN_ORIGINS"];

/** What a run of requests has brought into being so far. */
class Installation {
  readonly organizationId = newId();
  readonly users = Array.from({ length: USERS }, newId);
  readonly keys = Array.from({ length: KEYS }, newId);
  readonly made = new Map<string, string[]>();
  /** Whose credentials and MFA policies they are. */
  readonly owners = new Map<string, string>();
  /** Every part that some change has had an effect on. */
  readonly touched = new Map<string, PartRef>();

  /** One that exists, if there are any; the last index is of one that does not. */
  pick(kind: string, at: number): string {
    const known = kind === "users" ? this.users : kind === "keys" ? this.keys : (this.made.get(kind) ?? []);
    return (at === MAX_INDEX ? undefined : known[at % known.length]) ?? UNKNOWN;
  }

  /** The ids of the users that were there at first, and of those that were made since. */
  private userAt(at: number): string {
    return this.pick("users", at);
  }

  private intentOfUser(request: Request): object | undefined {
    const tagIds = (places: readonly number[]) => places.map((place) => this.pick("create_user_tag", place));
    const keys = (places: readonly number[], expires: boolean, isV1: boolean) =>
      [...new Set(places)].map((place) => ({
        apiKeyName: "key",
        publicKey: publicKeyAt(place),
        ...(isV1 ? {} : { curveType: "API_KEY_CURVE_P256" }),
        ...(expires ? { expirationSeconds: String(1 + (place % 3)) } : {}),
      }));
    if ("userName" in request) {
      const { userName, email: userEmail, apiKeys, expires, provider, passkey, tags } = request;
      const isV1 = request.path === "create_api_only_users";
      const shared = { userName, ...(userEmail ? { userEmail } : {}), userTags: tagIds(tags) };
      const user = { ...shared, apiKeys: keys(apiKeys, expires, isV1) };
      if (isV1) return { apiOnlyUsers: [user] };
      const oidcClaims = { iss: "https://issuer.example", sub: `subject ${provider}`, aud: "audience" };
      const oauthProviders = provider === undefined ? [] : [{ providerName: "provider", oidcClaims }];
      return { users: [{ ...user, authenticators: passkey === undefined ? [] : [{}], oauthProviders }] };
    }
    if (request.path === "update_user" && "user" in request && "tags" in request && !("passkey" in request)) {
      const { user, name: userName, email: userEmail, tags = [] } = request;
      return { userId: this.userAt(user), userName, userEmail, ...(request.tags ? { userTagIds: tagIds(tags) } : {}) };
    }
    if ("address" in request) return { userId: this.userAt(request.user), userEmail: request.address };
    if ("users" in request) return { userIds: request.users.map((at) => this.userAt(at)) };
    if ("user" in request && "passkey" in request) return { userId: this.userAt(request.user), authenticators: [{}] };
    if ("user" in request && "apiKeys" in request) {
      return { userId: this.userAt(request.user), apiKeys: keys(request.apiKeys, request.expires, false) };
    }
    return undefined;
  }

  private intentOfCredentials(request: Request): object | undefined {
    if (request.path === "create_oauth_providers" && "user" in request) {
      return { userId: this.userAt(request.user), oauthProviders: [{}] };
    }
    if (!("credentials" in request)) return undefined;
    const [made, names] = {
      delete_api_keys: ["create_api_keys", "apiKeyIds"],
      delete_authenticators: ["create_authenticators", "authenticatorIds"],
      delete_oauth_providers: ["create_oauth_providers", "providerIds"],
    }[request.path as "delete_api_keys"] as [string, string];
    const ids = request.credentials.map((at) => this.pick(made, at));
    return { userId: this.owners.get(ids[0] as string) ?? UNKNOWN, [names]: ids };
  }

  private intentOfMfaPolicy(request: Request): object | undefined {
    if (!("methods" in request)) {
      if (!("mfaPolicy" in request)) return undefined;
      const mfaPolicyId = this.pick("create_mfa_policy", request.mfaPolicy);
      return { userId: this.owners.get(mfaPolicyId) ?? UNKNOWN, mfaPolicyId };
    }
    const { condition, methods, order } = request;
    const requiredAuthenticationMethods = methods?.map((method) => {
      const type = `AUTHENTICATION_TYPE_${method}`;
      const profile = { type, id: this.pick("create_session_profile", 0) };
      return { any: method === "SESSION" ? [profile, { type: "AUTHENTICATION_TYPE_API_KEY" }] : [{ type }] };
    });
    const content = { condition, requiredAuthenticationMethods, order };
    if ("user" in request) return { ...content, userId: this.userAt(request.user), mfaPolicyName: "policy" };
    const mfaPolicyId = this.pick("create_mfa_policy", request.mfaPolicy);
    return { ...content, userId: this.owners.get(mfaPolicyId) ?? UNKNOWN, mfaPolicyId };
  }

  private intentOfPolicy(request: Request): object | undefined {
    if ("policies" in request) {
      const policies = request.policies.map(({ name: policyName, expression }) => ({
        policyName,
        effect: "EFFECT_ALLOW",
        condition: expression,
        time: expression,
        notes: policyName,
      }));
      return request.path === "create_policies" ? { policies } : policies[0];
    }
    const policyAt = (at: number): string => this.pick(at % 2 === 0 ? "create_policy" : "create_policies", at);
    if ("policy" in request) {
      const { policy, name: policyName, expression } = request;
      return { policyId: policyAt(policy), policyName, policyConsensus: expression, time: expression };
    }
    if (!("gone" in request)) return undefined;
    const gone = request.gone.map(policyAt);
    return request.path === "delete_policies" ? { policyIds: gone } : { policyId: gone[0] };
  }

  private intentOfKeys(request: Request): object | undefined {
    if ("keys" in request) return {};
    if ("key" in request) return { privateKeyId: this.pick("keys", request.key) };
    if ("walletName" in request || "secrets" in request) return {};
    if ("wallet" in request) return { walletId: this.pick("create_wallet", request.wallet), walletName: request.name };
    if ("walletsGone" in request) {
      const walletIds = request.walletsGone.map((at) => this.pick("create_wallet", at));
      return { walletIds, deleteWithoutExport: request.evenUnexported };
    }
    if ("secretsOut" in request) {
      return { secrets: request.secretsOut.map((at) => ({ secretId: this.pick("import_secrets", at) })) };
    }
    if ("secretsGone" in request) {
      return { secretIds: request.secretsGone.map((at) => this.pick("import_secrets", at)) };
    }
    if (!("keysGone" in request)) return undefined;
    const privateKeyIds = request.keysGone.map((at) => this.pick("keys", at));
    return { privateKeyIds, deleteWithoutExport: request.evenUnexported };
  }

  /** What `prepare` would have made of the request. */
  preparedFor(request: Request): unknown {
    if ("walletName" in request) {
      return { id: newId(), name: request.walletName, sealedWallet: Buffer.alloc(1), imported: false, accounts: [] };
    }
    if ("secrets" in request) {
      const content = { staticProperties: [{ key: "a", value: "b" }], sealedSecret: Buffer.alloc(1) };
      return [...new Set(request.secrets)].map((name) => ({ id: newId(), name, ...content }));
    }
    if (!("keys" in request)) return preparedFor(request);
    const material = {
      curve: "CURVE_P256",
      publicKey: "00",
      sealedKey: Buffer.alloc(1),
      imported: false,
      addresses: [],
    };
    return request.keys.map(({ name, tags }) => {
      const tagIds = tags.map((at) => this.pick("create_private_key_tag", at));
      return { id: newId(), name, ...material, tagIds };
    });
  }

  intentOf(request: Request): object {
    const special =
      this.intentOfUser(request) ??
      this.intentOfCredentials(request) ??
      this.intentOfMfaPolicy(request) ??
      this.intentOfKeys(request) ??
      this.intentOfPolicy(request);
    if (special) return special;
    if ("threshold" in request) {
      const userIds = [...new Set(request.members.map((at) => this.userAt(at)))];
      return { threshold: request.threshold, userIds };
    }
    const isOfUsers = request.path.includes("user_tag");
    const members = isOfUsers ? "users" : "keys";
    const tagKind = isOfUsers ? "create_user_tag" : "create_private_key_tag";
    const ids = (kind: string, places: readonly number[]) => places.map((place) => this.pick(kind, place));
    const noun = isOfUsers ? "User" : "PrivateKey";
    const first = isOfUsers ? "user" : "privateKey";
    if ("name" in request && request.path.startsWith("create_") && "members" in request && !("tag" in request)) {
      return { [`${first}TagName`]: request.name, [`${first}Ids`]: ids(members, request.members) };
    }
    if ("tag" in request) {
      return {
        [`${first}TagId`]: this.pick(tagKind, request.tag),
        [`new${noun}TagName`]: request.name,
        [`add${noun}Ids`]: ids(members, request.members),
        [`remove${noun}Ids`]: ids(members, request.others),
      };
    }
    if ("emails" in request) {
      const receiverUserTags = ids("create_user_tag", request.tags);
      return {
        invitations: request.emails.map((receiverUserEmail) => ({
          receiverUserName: "Ada",
          receiverUserEmail,
          receiverUserTags,
          accessType: "ACCESS_TYPE_ALL",
          senderUserId: this.pick("users", request.sender),
        })),
      };
    }
    if ("tags" in request && request.tags) return { [`${first}TagIds`]: ids(tagKind, request.tags) };
    if ("invitation" in request) return { invitationId: this.pick("create_invitations", request.invitation) };
    if ("feature" in request) {
      const feature = FEATURES[request.feature % FEATURES.length];
      return { name: feature, ...("value" in request && request.value ? { value: request.value } : {}) };
    }
    if ("cidrs" in request) return { enabled: true, rules: request.cidrs.map((cidr) => ({ cidr })) };
    if ("contract" in request && request.path.startsWith("create")) {
      return {
        smartContractAddress: `0x${String(request.contract).repeat(40)}`,
        smartContractInterface: "[]",
        type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        label: "contract",
      };
    }
    if ("contract" in request) {
      return { smartContractInterfaceId: this.pick("create_smart_contract_interface", request.contract) };
    }
    return "name" in request ? { sessionProfileName: request.name, scope: "true" } : {};
  }
}

/** Databases give bytes in classes of their own. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (_, inner) =>
      inner?.type === "Buffer" || inner instanceof Uint8Array
        ? Buffer.from(inner.data ?? inner).toString("hex")
        : inner,
    ),
  );

const publicKeyAt = (at: number): string => `02${String(at).padStart(64, "0")}`;

/** As a verified attestation leaves it. */
const passkeyAt = (at: number) => ({
  name: "passkey",
  credentialId: `credential-${at}`,
  publicKey: Buffer.from([at]),
  aaguid: "00000000-0000-0000-0000-000000000000",
  attestationType: "none",
  transports: ["AUTHENTICATOR_TRANSPORT_USB"],
  rpIdHash: Buffer.alloc(32, at),
  origin: "https://example.com",
  signCount: 0,
});

function preparedFor(request: Request): unknown {
  const passkeys = "passkey" in request && request.passkey !== undefined ? [passkeyAt(request.passkey)] : [];
  if ("address" in request) {
    const value = request.address.toLowerCase();
    return { shown: request.shows && value !== "" ? { type: "EMAIL", value } : undefined };
  }
  if ("emails" in request) return request.emails.map((_, index) => ({ tokenHash: `hash ${index}` }));
  if (request.path === "accept_invitation") {
    return { tokenHash: "hash 0", userId: newId(), credentialId: newId(), authenticators: passkeys };
  }
  const provider = "provider" in request ? request.provider : undefined;
  const claims = { issuer: "https://issuer.example", subject: `subject ${provider}`, audience: "audience" };
  const oauthProviders = provider === undefined ? [] : [{ name: "provider", ...claims, isProven: true }];
  if (request.path === "create_oauth_providers") return { checked: oauthProviders, isByParent: false };
  if (request.path !== "create_users") return passkeys;
  return { authenticators: [passkeys], oauthProviders: [oauthProviders] };
}

/** The intent with what verified requests say beside it, and `preparedFor` alone here. Passkeys are not told: they need attestations. */
function toldIntent(request: Request, intent: object, prepared: unknown): object {
  if ("address" in request) {
    const { shown } = prepared as { shown?: { value: string } };
    const claims = { verification_type: "OTP_TYPE_EMAIL", contact: shown?.value };
    const token = Buffer.from(JSON.stringify(claims)).toString("base64url");
    return { ...intent, ...(shown ? { verificationToken: `header.${token}.signature` } : {}) };
  }
  if ("keys" in request) {
    const privateKeys = (prepared as { tagIds: string[] }[]).map(({ tagIds }) => ({ privateKeyTags: tagIds }));
    return { privateKeys };
  }
  if (request.path === "create_oauth_providers") {
    const { checked } = prepared as { checked: { issuer: string; subject: string; audience: string }[] };
    const oauthProviders = checked.map(({ issuer: iss, subject: sub, audience: aud }) => ({
      oidcClaims: { iss, sub, aud },
    }));
    return { ...intent, oauthProviders };
  }
  const { users, ...rest } = intent as { users?: object[] };
  return {
    ...rest,
    ...(users ? { users: users.map((user) => ({ ...user, authenticators: [] })) } : {}),
    ...("authenticators" in intent ? { authenticators: [] } : {}),
  };
}

for (const engine of engines) {
  describe(`changes of authority and their rows (${engine})`, () => {
    let database: Database;
    const kindsMade = new Set<Change["do"]>();
    before(async () => {
      const url =
        engine === "sqlite"
          ? "sqlite::memory:"
          : await createTestDatabase(testPostgresUrl(), `authority_${newId().replaceAll("-", "")}`);
      database = openDatabase({ url });
      await database.migrate();
    });
    after(() => database.close());

    async function install(): Promise<Installation> {
      const installation = new Installation();
      const { organizationId: organization_id, users, keys } = installation;
      const times = { created_at: 0, updated_at: 0 };
      await database.transact(organization_id, async (tx) => {
        const organization = { id: organization_id, parent_id: null, name: "One", quorum_threshold: 1, ...times };
        await tx
          .insertInto("organizations")
          .values({ ...organization, sealed_key: Buffer.alloc(1) })
          .execute();
        const root_id = organization_id;
        const person = {
          organization_id,
          root_id,
          name: "User",
          email: null,
          phone_number: null,
          version: 1,
          ...times,
        };
        // One whom no request names, so that there is a root quorum.
        const rootUserId = newId();
        await tx
          .insertInto("users")
          .values([rootUserId, ...users].map((id) => ({ id, ...person })))
          .execute();
        await tx.insertInto("root_quorum_members").values({ organization_id, user_id: rootUserId }).execute();
        const userIds = [rootUserId, ...users];
        const made = { intent: { users: userIds.map(() => ({})) }, result: { userIds } };
        await recordActivity(tx, organization_id, "create_users", { ...made, now: 0 });
        const quorum = { intent: { threshold: 1, userIds: [rootUserId] }, result: {} };
        await recordActivity(tx, organization_id, "update_root_quorum", { ...quorum, now: 0 });
        const key = { organization_id, curve: "CURVE_P256", public_key: "00", exported: 0, imported: 0, ...times };
        await tx
          .insertInto("private_keys")
          .values(keys.map((id) => ({ id, name: id, sealed_key: Buffer.alloc(1), ...key })))
          .execute();
      });
      return installation;
    }

    /** Stores a completed activity, as a request would have left it. */
    const recordActivity = (
      tx: Transactor,
      organization_id: string,
      path: string,
      { intent, result, now }: { intent: object; result: unknown; now: number },
    ): Promise<unknown> => {
      const [version] = operationNamed(path).versions.values();
      const { type, intentKey, resultKey } = version as ActivityVersion;
      const id = newId();
      const told = { intent: JSON.stringify({ [intentKey]: intent }), result: JSON.stringify({ [resultKey]: result }) };
      const row = { organization_id, id, type, status: "ACTIVITY_STATUS_COMPLETED", fingerprint: id, failure: null };
      return tx
        .insertInto("activities")
        .values({ ...row, ...told, created_at: now, updated_at: now })
        .execute();
    };

    /** In a transaction of its own, and compared with its rows, unless one is given. */
    async function carryOut(installation: Installation, request: Request, now: number, tx?: Transactor): Promise<void> {
      const { organizationId } = installation;
      const operation = operationNamed(request.path);
      assert.ok(operation.carryOut.by === "changes", request.path);
      const { change, answer } = operation.carryOut;
      const ids = new Map<string, string>();
      const id = (place: string) => ids.get(place) ?? (ids.set(place, newId()).get(place) as string);
      const intent = installation.intentOf(request);
      const prepared = installation.preparedFor(request);
      const shared = { intent, plan: undefined, prepared, organization: {} as Organization };
      const decide = () =>
        onAuthority(tx ?? database.read, organizationId, (view) => {
          const evaluate = conditionsWithin(new Budget(MAX_DECISION_STEPS));
          const changes = change({ ...shared, submitterId: "", now, view, parentView: view, evaluate, id });
          result = answer({ intent, prepared, changes, id, view: viewAfter(view, changes) });
          return changes;
        });
      let changes: readonly Change[];
      let result: unknown;
      try {
        changes = await decide();
      } catch (error) {
        if (error instanceof KeysteadError) return;
        throw error;
      }
      for (const change of changes) kindsMade.add(change.do);
      for (const { part } of changes.flatMap(effectsOf)) installation.touched.set(keyOf(part), part);
      if (tx) await project(tx, organizationId, changes);
      else {
        await projectAndCompare(installation, request, changes);
        const told = { intent: toldIntent(request, intent, prepared), result, now };
        await database.transact(organizationId, (own) => recordActivity(own, organizationId, request.path, told));
      }
      noteMade(installation, request, { intent, prepared, ids });
    }

    async function projectAndCompare(
      { organizationId, touched }: Installation,
      request: Request,
      changes: readonly Change[],
    ): Promise<void> {
      // Those too that earlier operations touched: what a change fails to mention must show.
      const parts = [...touched.values()];
      const foretold: LoadedParts = new Map();
      await loadInto(foretold, database.read, organizationId, parts);
      const expected = viewAfter(viewOf(organizationId, foretold), changes);
      const said = parts.map(({ kind, id }) => expected.part(kind, id));
      await database.transact(organizationId, (tx) => project(tx, organizationId, changes));
      const found: LoadedParts = new Map();
      await loadInto(found, database.read, organizationId, parts);
      assert.deepEqual(
        parts.map((part) => plain(found.get(keyOf(part)))),
        said.map(plain),
        JSON.stringify({ request, changes }),
      );
    }

    function noteMade(
      installation: Installation,
      request: Request,
      { intent, prepared, ids }: { intent: object; prepared: unknown; ids: Map<string, string> },
    ): void {
      if ("walletName" in request) ids.set("wallet", (prepared as { id: string }).id);
      if ("secrets" in request) for (const { id } of prepared as { id: string }[]) ids.set(id, id);
      if ("keys" in request) installation.keys.unshift(...(prepared as { id: string }[]).map((key) => key.id));
      installation.made.set(request.path, [...(installation.made.get(request.path) ?? []), ...ids.values()]);
      if ("userId" in intent) for (const made of ids.values()) installation.owners.set(made, intent.userId as string);
      if (request.path.endsWith("_users") && "userName" in request) {
        const place = request.path === "create_users" ? "users.0" : "apiOnlyUsers.0";
        // Among those that are picked first.
        installation.users.unshift(ids.get(place) as string);
      }
    }

    /** What must hold between rows, whatever was done; `keystead doctor` looks for it. */
    const requireNoContradictions = async (): Promise<void> =>
      assert.deepEqual(
        await compareRows({
          kind: database.read.kind,
          all: (sql) => database.read.all({ sql, parameters: [] }),
        }),
        { contradictions: [], unknown: [] },
      );

    /** Nor that is accounted for by no activity, as `keystead verify-authority` looks for it. */
    const requireAccounts = async ({ organizationId }: Installation, sequence: readonly Request[]): Promise<void> => {
      const { kind, all } = database.read;
      const reader = {
        kind,
        all: <Row>(sql: string, parameters: readonly unknown[] = []) => all<Row>({ sql, parameters }),
      };
      const traced = await traceAuthority({ database: reader, operations, organizationId });
      const unaccounted = traced?.unaccounted.filter(({ what }) => !what.startsWith("passkeys that no activity gave"));
      assert.deepEqual(unaccounted, [], JSON.stringify(sequence));
    };

    it("agree after every operation of random sequences", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(requests, { minLength: 10, maxLength: 40, size: "max" }), async (sequence) => {
          const installation = await install();
          for (const [step, request] of sequence.entries()) await carryOut(installation, request, 1000 + step);
          await requireNoContradictions();
          await requireAccounts(installation, sequence);
        }),
        { numRuns: 30, examples: [[ofEveryKind]] },
      );
      const missing = kindsOfChanges.filter((kind) => !kindsMade.has(kind));
      assert.deepEqual(missing, [], "no request of `ofEveryKind` makes changes of these kinds");
    });

    /** Who holds each of the keys that may have been made. */
    const holdersOf = (read: Reader, { organizationId }: Installation) =>
      Promise.all(
        Array.from({ length: MAX_INDEX + 1 }, (_, place) =>
          apiKeyKind.find(read, { organizationId, key: publicKeyAt(place), reach: "organization", now: 0 }),
        ),
      );

    it("agree with what the functions of a transaction know of them", async () => {
      const groups = fc.array(fc.array(requests, { minLength: 2, maxLength: 12, size: "max" }), {
        minLength: 3,
        maxLength: 6,
      });
      let compared = 0;
      await fc.assert(
        fc.asyncProperty(groups, async (sequence) => {
          const installation = await install();
          const { organizationId, touched } = installation;
          for (let user = 0; user < USERS; user++) {
            const own: Request = { path: "create_api_keys", user, apiKeys: [user], expires: false };
            await carryOut(installation, own, 1);
          }
          for (const group of sequence) {
            const known = await database.transact(organizationId, async (tx) => {
              for (const [step, request] of group.entries()) {
                await holdersOf(tx, installation);
                await carryOut(installation, request, 1000 + step, tx);
              }
              const parts: LoadedParts = new Map(tx.known(knownAuthority).parts.get(organizationId));
              return { parts, holders: await holdersOf(tx, installation) };
            });
            compared += known.parts.size;
            const refs = [...touched.values()].filter((ref) => known.parts.has(keyOf(ref)));
            const found: LoadedParts = new Map();
            await loadInto(found, database.read, organizationId, refs);
            for (const ref of refs)
              assert.deepEqual(
                plain(known.parts.get(keyOf(ref))),
                plain(found.get(keyOf(ref))),
                JSON.stringify([ref, group]),
              );
            assert.deepEqual(
              plain(known.holders),
              plain(await holdersOf(database.read, installation)),
              JSON.stringify(group),
            );
          }
        }),
        { numRuns: 20 },
      );
      assert.ok(compared > 100, `${compared} parts`);
    });
  });
}
