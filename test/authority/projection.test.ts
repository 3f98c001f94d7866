import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Change, effectsOf } from "../../src/authority/changes.ts";
import { keyOf, type PartRef } from "../../src/authority/state.ts";
import { type LoadedParts, viewAfter, viewOf } from "../../src/authority/view.ts";
import { operations } from "../../src/capabilities/index.ts";
import { loadInto, onAuthority } from "../../src/engine/authority/load.ts";
import { project } from "../../src/engine/authority/project.ts";
import type { ActivityOperation, Organization } from "../../src/engine/operations.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { engines, testPostgresUrl } from "../support/server.ts";

/**
 * Random sequences of operations: what the pure changes make of the state is what the tables say after the projector has
 * written them, part by part, and a refused operation leaves every part as it was.
 */

const USERS = 4;
const KEYS = 3;

const operationNamed = (path: string) => operations.find((each) => each.path === path) as ActivityOperation;

const index = fc.nat({ max: 5 });
const indexes = fc.array(index, { maxLength: 4 });
const name = fc.constantFrom("a", "b", "Ada", "Grace");

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
  fc.record({ path: fc.constant("delete_users"), users: fc.array(index, { minLength: 1, maxLength: 2 }) }),
  fc.record({
    path: fc.constant("create_api_keys"),
    user: index,
    apiKeys: fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 }),
    expires: fc.boolean(),
  }),
  fc.record({ path: fc.constant("create_authenticators"), user: index, passkey: index }),
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

const FEATURES = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_SMS_AUTH", "FEATURE_NAME_WEBAUTHN_ORIGINS"];

/** What a run of requests has brought into being so far. */
class Installation {
  readonly organizationId = newId();
  readonly users = Array.from({ length: USERS }, newId);
  readonly keys = Array.from({ length: KEYS }, newId);
  readonly made = new Map<string, string[]>();
  /** Every part that some change has had an effect on. */
  readonly touched = new Map<string, PartRef>();

  /** One that may exist; beyond those that do, one that does not. */
  pick(kind: string, at: number): string {
    const known = kind === "users" ? this.users : kind === "keys" ? this.keys : (this.made.get(kind) ?? []);
    return known[at] ?? "00000000-0000-7000-8000-000000000000";
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
    if ("users" in request) return { userIds: request.users.map((at) => this.userAt(at)) };
    if ("user" in request && "passkey" in request) return { userId: this.userAt(request.user), authenticators: [{}] };
    if ("user" in request && "apiKeys" in request) {
      return { userId: this.userAt(request.user), apiKeys: keys(request.apiKeys, request.expires, false) };
    }
    return undefined;
  }

  intentOf(request: Request): object {
    const ofUser = this.intentOfUser(request);
    if (ofUser) return ofUser;
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

/** What `prepare` would have made of the request. */
function preparedFor(request: Request): unknown {
  const passkeys = "passkey" in request && request.passkey !== undefined ? [passkeyAt(request.passkey)] : [];
  if (request.path !== "create_users") return passkeys;
  const provider = "provider" in request ? request.provider : undefined;
  const claims = { issuer: "https://issuer.example", subject: `subject ${provider}`, audience: "audience" };
  const oauthProviders = provider === undefined ? [] : [{ name: "provider", ...claims, isProven: true }];
  return { authenticators: [passkeys], oauthProviders: [oauthProviders] };
}

for (const engine of engines) {
  describe(`changes of authority and their rows (${engine})`, () => {
    let database: Database;
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
        const person = { organization_id, name: "User", email: null, phone_number: null, version: 1, ...times };
        await tx
          .insertInto("users")
          .values(users.map((id) => ({ id, ...person })))
          .execute();
        const key = { organization_id, curve: "CURVE_P256", public_key: "00", exported: 0, imported: 0, ...times };
        await tx
          .insertInto("private_keys")
          .values(keys.map((id) => ({ id, name: id, sealed_key: Buffer.alloc(1), ...key })))
          .execute();
      });
      return installation;
    }

    async function carryOut(installation: Installation, request: Request, now: number): Promise<void> {
      const { organizationId } = installation;
      const operation = operationNamed(request.path);
      assert.ok(operation.carryOut.by === "changes", request.path);
      const { change, answer } = operation.carryOut;
      const ids = new Map<string, string>();
      const id = (place: string) => ids.get(place) ?? (ids.set(place, newId()).get(place) as string);
      const intent = installation.intentOf(request);
      const prepared = preparedFor(request);
      const shared = { intent, plan: undefined, prepared, organization: {} as Organization };
      const decide = () =>
        onAuthority(database.read, organizationId, (view) => {
          const changes = change({ ...shared, submitterId: "", now, view, id });
          answer({ intent, prepared, changes, id, view: viewAfter(view, changes) });
          return changes;
        });
      let changes: readonly Change[];
      try {
        changes = await decide();
      } catch (error) {
        if (error instanceof KeysteadError) return;
        throw error;
      }
      for (const { part } of changes.flatMap(effectsOf)) installation.touched.set(keyOf(part), part);
      // Those too that earlier operations touched: what a change fails to mention must show.
      const parts = [...installation.touched.values()];
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
      installation.made.set(request.path, [...(installation.made.get(request.path) ?? []), ...ids.values()]);
      if (request.path.endsWith("_users") && "userName" in request) {
        const place = request.path === "create_users" ? "users.0" : "apiOnlyUsers.0";
        // Among those that are picked first.
        installation.users.unshift(ids.get(place) as string);
      }
    }

    it("agree after every operation of random sequences", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(requests, { minLength: 5, maxLength: 30 }), async (sequence) => {
          const installation = await install();
          for (const [step, request] of sequence.entries()) await carryOut(installation, request, 1000 + step);
        }),
        { numRuns: 40 },
      );
    });
  });
}
