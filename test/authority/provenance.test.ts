import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { operations } from "../../src/capabilities/index.ts";
import { factsOfOperations } from "../../src/engine/authority/provenance/facts-of-operations.ts";
import { type Traced, type Tracing, traceAuthority } from "../../src/engine/authority/provenance/trace.ts";
import { newId } from "../../src/kernel/ids.ts";
import { AUTHORITY_LARGE_ROWS_AT_ONCE, AUTHORITY_ROWS_AT_ONCE, DOCTOR_PROVENANCE_MS } from "../../src/kernel/limits.ts";
import { checkAuthority } from "../../src/main/doctor/authority.ts";
import type { Database } from "../../src/storage/database.ts";
import { openInspection } from "../../src/storage/inspection.ts";
import { apiKeyParams, generateApiKey, type Json } from "../support/client.ts";
import { bodyOf, exampleRequests, kindFor } from "../support/examples.ts";
import { traceDatabase } from "../support/provenance.ts";
import { onEachEngine, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/** Rows of authority that somebody wrote beside the servers, in databases that real requests have filled. */

/** Their examples leave rows in every table of authority, each in an organization of its own. */
const REQUESTS = [
  ...["create_users", "update_user_email", "update_user_phone_number", "create_api_keys", "create_authenticators"],
  ...["create_oauth_providers", "update_user_tag", "update_private_key_tag", "create_policies", "create_mfa_policy"],
  ...["create_session_profile", "set_ip_allowlist", "set_organization_feature", "create_invitations"],
  ...["create_smart_contract_interface", "create_sub_organization", "otp_login", "oauth", "init_user_email_recovery"],
  ...["enable_auth_proxy", "accept_invitation", "update_root_quorum"],
] as const;
type Path = (typeof REQUESTS)[number];

async function carryOut(server: TestServer, path: Path): Promise<World> {
  const request = exampleRequests.find(({ name }) => name === path);
  assert.ok(request, path);
  const world = await createWorld(server, kindFor(request.operation));
  const fields = await request.example(world);
  const { client } = world.root;
  const answer = await client.post(request.url, JSON.stringify(bodyOf(request, client, fields)));
  assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
  return world;
}

interface Edit {
  by: string;
  /** Of whose example's organization the row is. */
  in: Path;
  /** Finds the row by `id`; the organization's id stands for `$o`. */
  row: string;
  /** What somebody does; the row's id stands for `$id`, the organization's for `$o`, and one that nothing has for `$new`. */
  sql: string;
  what: string;
  /** Which row is told, where it is another one. */
  told?: "$new" | "$o";
  isOrganization?: true;
}

const KEY = `0${"2".repeat(65)}`;
const user = "select id from users where organization_id = '$o' order by id desc limit 1";
const policy = (name: string) => `select id from policies where organization_id = '$o' and name like '${name}' limit 1`;
const first = (table: string) => `select id from ${table} where organization_id = '$o' order by id limit 1`;
const allowlist = "select id from ip_allowlists where organization_id = '$o' limit 1";

const WHAT = {
  users: "users that no activity made",
  contacts: "users whose e-mail address or phone number no activity gave them",
  keys: "API keys that no activity gave to their user, or not for as long",
  passkeys: "passkeys that no activity gave to their user",
  providers: "OAuth providers that no activity gave to their user",
  verified: "users with a verified contact that no activity verified",
  quorum: "organizations whose root quorum no activity set",
  below: "sub-organizations that no activity made below their parent",
  features: "features that no activity switched on as they are",
  tags: "users with a tag that no activity attached to them",
  keyTags: "private keys with a tag that no activity attached to them",
  policies: "policies whose effect, condition, consensus or time no activity gave them",
  mfa: "MFA policies whose condition, methods or order no activity gave them",
  profiles: "session profiles that no activity made as they are",
  allowlists: "IP allowlists that no activity set as they are",
  invitations: "invitations that no activity made as they are",
  interfaces: "interfaces of contracts that no activity gave as they are",
};

const edits: readonly Edit[] = [
  {
    by: "inserting a user",
    in: "create_users",
    row: user,
    sql: `insert into users (id, organization_id, root_id, name, email, version, created_at, updated_at)
      values ('$new', '$o', '$o', 'Mallory', null, 1, 1, 1)`,
    what: WHAT.users,
    told: "$new",
  },
  {
    by: "changing a user's e-mail address",
    in: "create_users",
    row: user,
    sql: "update users set email = 'mallory@example.com' where organization_id = '$o' and id = '$id'",
    what: WHAT.contacts,
  },
  {
    by: "changing a user's phone number",
    in: "update_user_phone_number",
    row: "select user_id as id from verified_contacts where organization_id = '$o'",
    sql: "update users set phone_number = '+14155559999' where organization_id = '$o' and id = '$id'",
    what: WHAT.contacts,
  },
  {
    by: "inserting an API key",
    in: "create_api_keys",
    row: user,
    sql: `insert into api_keys (id, organization_id, user_id, name, credential_type, public_key, created_at, updated_at)
      values ('$new', '$o', '$id', 'Mallory', 'CREDENTIAL_TYPE_API_KEY_P256', '${KEY}', 1, 1)`,
    what: WHAT.keys,
    told: "$new",
  },
  {
    by: "inserting an API key as of the beginning",
    in: "create_api_keys",
    row: `select u.id from users u join organizations o on o.id = u.organization_id
      where o.id = '$o' and u.created_at <> o.created_at order by u.id desc limit 1`,
    sql: `insert into api_keys (id, organization_id, user_id, name, credential_type, public_key, created_at, updated_at)
      select '$new', id, '$id', 'Mallory', 'CREDENTIAL_TYPE_API_KEY_P256', '${KEY}', created_at, created_at
      from organizations where id = '$o'`,
    what: WHAT.keys,
    told: "$new",
  },
  {
    by: "exchanging an API key",
    in: "create_api_keys",
    row: `select k.id from api_keys k join users u on u.id = k.user_id where k.organization_id = '$o'
      and k.created_at > u.created_at limit 1`,
    sql: `update api_keys set public_key = '${KEY}' where organization_id = '$o' and id = '$id'`,
    what: WHAT.keys,
  },
  {
    by: "giving somebody else's API key to another user",
    in: "create_api_keys",
    row: "select id from api_keys where organization_id = '$o' order by id desc limit 1",
    sql: `update api_keys set user_id = (select u.id from users u where u.organization_id = '$o' and u.id <> user_id
      order by u.id limit 1) where organization_id = '$o' and id = '$id'`,
    what: WHAT.keys,
  },
  {
    by: "having the key of a login last",
    in: "otp_login",
    row: "select id from api_keys where organization_id = '$o' and credential_type = 'CREDENTIAL_TYPE_LOGIN'",
    sql: "update api_keys set expiration_seconds = null, expires_at = null where organization_id = '$o' and id = '$id'",
    what: WHAT.keys,
  },
  {
    by: "freeing a session from its profile",
    in: "otp_login",
    row: "select id from api_keys where organization_id = '$o' and credential_type = 'CREDENTIAL_TYPE_LOGIN'",
    sql: "update api_keys set session_profile_id = null where organization_id = '$o' and id = '$id'",
    what: WHAT.keys,
  },
  {
    by: "having a key that the signer made last longer",
    in: "oauth",
    row: "select id from api_keys where organization_id = '$o' and credential_type = 'CREDENTIAL_TYPE_OAUTH_KEY_P256'",
    sql: `update api_keys set expiration_seconds = 100000000, expires_at = created_at + 100000000000
      where organization_id = '$o' and id = '$id'`,
    what: WHAT.keys,
  },
  {
    by: "making a key to recover by one that may do everything",
    in: "init_user_email_recovery",
    row: `select id from api_keys where organization_id = '$o'
      and credential_type = 'CREDENTIAL_TYPE_RECOVER_USER_KEY_P256'`,
    sql: `update api_keys set credential_type = 'CREDENTIAL_TYPE_API_KEY_P256' where organization_id = '$o' and id = '$id'`,
    what: WHAT.keys,
  },
  {
    by: "exchanging the key of an auth proxy",
    in: "enable_auth_proxy",
    row: "select id from api_keys where organization_id = '$o' and grade = 'server'",
    sql: `update api_keys set public_key = '${KEY}' where organization_id = '$o' and id = '$id'`,
    what: WHAT.keys,
  },
  {
    by: "exchanging the key of a passkey",
    in: "create_authenticators",
    row: first("authenticators"),
    sql: "update authenticators set public_key = rp_id_hash where organization_id = '$o' and id = '$id'",
    what: WHAT.passkeys,
  },
  {
    by: "giving a passkey to another user",
    in: "create_authenticators",
    row: first("authenticators"),
    sql: `update authenticators set user_id = (select u.id from users u where u.organization_id = '$o' and u.id <> user_id
      order by u.id limit 1) where organization_id = '$o' and id = '$id'`,
    what: WHAT.passkeys,
  },
  {
    by: "having somebody else at an issuer be a user",
    in: "create_oauth_providers",
    row: first("oauth_providers"),
    sql: "update oauth_providers set subject = 'mallory' where organization_id = '$o' and id = '$id'",
    what: WHAT.providers,
  },
  {
    by: "verifying another contact",
    in: "update_user_email",
    row: "select user_id as id from verified_contacts where organization_id = '$o'",
    sql: "update verified_contacts set contact = 'mallory@example.com' where organization_id = '$o' and user_id = '$id'",
    what: WHAT.verified,
  },
  {
    by: "lowering the threshold of a root quorum",
    in: "update_root_quorum",
    row: "select id from organizations where id = '$o'",
    sql: "update organizations set quorum_threshold = 2 where id = '$id'",
    what: WHAT.quorum,
  },
  {
    by: "adding a member to a root quorum",
    in: "create_policies",
    row: user,
    sql: "insert into root_quorum_members (organization_id, user_id) values ('$o', '$id')",
    what: WHAT.quorum,
    told: "$o",
  },
  {
    by: "moving a sub-organization below another parent",
    in: "create_sub_organization",
    row: "select id from organizations where parent_id = '$o'",
    sql: `update organizations set parent_id = (select p.id from organizations p where p.parent_id is null and p.id <> '$o'
      order by p.id limit 1) where id = '$id'`,
    what: WHAT.below,
    isOrganization: true,
  },
  {
    by: "switching a feature on",
    in: "create_policies",
    row: "select id from organizations where id = '$o'",
    sql: "insert into organization_features (organization_id, name) values ('$o', 'FEATURE_NAME_SMS_AUTH')",
    what: WHAT.features,
  },
  {
    by: "giving a feature another value",
    in: "set_organization_feature",
    row: "select id from organizations where id = '$o'",
    sql: `update organization_features set value = 'https://mallory.example'
      where organization_id = '$o' and name = 'FEATURE_NAME_WEBAUTHN_ORIGINS'`,
    what: WHAT.features,
  },
  {
    by: "attaching a user tag",
    in: "create_users",
    row: "select id from users where organization_id = '$o' order by id limit 1 offset 1",
    sql: `insert into user_tag_members (organization_id, tag_id, member_id)
      select organization_id, id, '$id' from tags where organization_id = '$o' limit 1`,
    what: WHAT.tags,
  },
  {
    by: "attaching a private key tag",
    in: "update_private_key_tag",
    row: `select k.id from private_keys k where k.organization_id = '$o' and not exists
      (select 1 from private_key_tag_members m where m.organization_id = '$o' and m.member_id = k.id) limit 1`,
    sql: `insert into private_key_tag_members (organization_id, tag_id, member_id)
      select organization_id, id, '$id' from tags where organization_id = '$o' limit 1`,
    what: WHAT.keyTags,
  },
  {
    by: "turning a policy's effect",
    in: "create_policies",
    row: policy("%"),
    sql: `update policies set effect = case effect when 'EFFECT_DENY' then 'EFFECT_ALLOW' else 'EFFECT_DENY' end
      where organization_id = '$o' and id = '$id'`,
    what: WHAT.policies,
  },
  {
    by: "emptying a policy's condition",
    in: "create_policies",
    row: "select id from policies where organization_id = '$o' and condition <> '' limit 1",
    sql: "update policies set condition = '' where organization_id = '$o' and id = '$id'",
    what: WHAT.policies,
  },
  {
    by: "lowering a policy's consensus",
    in: "create_policies",
    row: policy("%"),
    sql: "update policies set consensus = 'approvers.count() >= 0' where organization_id = '$o' and id = '$id'",
    what: WHAT.policies,
  },
  {
    by: "setting a policy's time",
    in: "create_policies",
    row: policy("%"),
    sql: "update policies set time = 'false' where organization_id = '$o' and id = '$id'",
    what: WHAT.policies,
  },
  {
    by: "allowing an auth proxy more",
    in: "enable_auth_proxy",
    row: policy("Auth proxy %"),
    sql: `update policies set condition = replace(condition, '[''', '[''ACTIVITY_TYPE_CREATE_USERS_V4'', ''')
      where organization_id = '$o' and id = '$id'`,
    what: WHAT.policies,
  },
  {
    by: "inserting a policy",
    in: "create_users",
    row: user,
    sql: `insert into policies (id, organization_id, name, effect, consensus, condition, notes, created_at, updated_at)
      values ('$new', '$o', 'Mallory', 'EFFECT_ALLOW', 'true', '', '', 1, 1)`,
    what: WHAT.policies,
    told: "$new",
  },
  {
    by: "deleting a policy",
    in: "create_policies",
    row: policy("%"),
    sql: "delete from policies where organization_id = '$o' and id = '$id'",
    what: "policies that are gone although no activity removed them",
  },
  {
    by: "having an MFA policy ask in no case",
    in: "create_mfa_policy",
    row: first("mfa_policies"),
    sql: "update mfa_policies set condition = 'false' where organization_id = '$o' and id = '$id'",
    what: WHAT.mfa,
  },
  {
    by: "having an MFA policy ask for nothing",
    in: "create_mfa_policy",
    row: first("mfa_policies"),
    sql: "update mfa_policies set required_methods = '[]' where organization_id = '$o' and id = '$id'",
    what: WHAT.mfa,
  },
  {
    by: "deleting an MFA policy",
    in: "create_mfa_policy",
    row: first("mfa_policies"),
    sql: "delete from mfa_policies where organization_id = '$o' and id = '$id'",
    what: "MFA policies that are gone although no activity removed them",
  },
  {
    by: "widening a session profile",
    in: "create_session_profile",
    row: first("session_profiles"),
    sql: "update session_profiles set scope = 'true' where organization_id = '$o' and id = '$id'",
    what: WHAT.profiles,
  },
  {
    by: "adding a block to an IP allowlist",
    in: "set_ip_allowlist",
    row: allowlist,
    sql: `update ip_allowlists set rules = '[{"cidr":"203.0.113.0/24","createdAt":1}]' where organization_id = '$o' and id = '$id'`,
    what: WHAT.allowlists,
  },
  {
    by: "having an IP allowlist let in whom it does not know",
    in: "set_ip_allowlist",
    row: allowlist,
    sql: `update ip_allowlists set on_evaluation_error = case on_evaluation_error when 'DENY' then 'ALLOW' else 'DENY' end
      where organization_id = '$o' and id = '$id'`,
    what: WHAT.allowlists,
  },
  {
    by: "deleting an IP allowlist",
    in: "set_ip_allowlist",
    row: "select k.public_key as id from ip_allowlists a join api_keys k on k.id = a.api_key_id where a.organization_id = '$o'",
    sql: "delete from ip_allowlists where organization_id = '$o'",
    what: "IP allowlists that are gone although no activity removed them",
  },
  {
    by: "inviting somebody else",
    in: "create_invitations",
    row: first("invitations"),
    sql: "update invitations set receiver_email = 'mallory@example.com' where organization_id = '$o' and id = '$id'",
    what: WHAT.invitations,
  },
  {
    by: "telling policies another meaning of a contract's calls",
    in: "create_smart_contract_interface",
    row: first("smart_contract_interfaces"),
    sql: "update smart_contract_interfaces set interface_json = '[]' where organization_id = '$o' and id = '$id'",
    what: WHAT.interfaces,
  },
];

/** What is found after these statements, which are taken back. */
async function foundAfter(
  database: Database,
  statements: readonly string[],
  options: Partial<Tracing> = {},
): Promise<Traced> {
  const done = new Error("taken back");
  let traced: Traced | undefined;
  await assert.rejects(
    database.transact(undefined, async (tx) => {
      for (const sql of statements) await tx.all({ sql, parameters: [] });
      const all = <Row>(sql: string, parameters: readonly unknown[] = []) => tx.all<Row>({ sql, parameters });
      traced = await traceAuthority({ database: { kind: database.kind, all }, operations, ...options });
      throw done;
    }),
    done,
  );
  return traced as Traced;
}

describe("what activities say of authority", () => {
  it("is read of every operation that changes users, credentials, tags, policies, quorums, features or allowlists", () => {
    const silent = [
      // Names, keys, wallets and secrets decide nothing, nor does a credential that is gone.
      ...["create_tvc_operator", "create_wallet", "delete_wallets", "export_wallet", "import_wallet", "update_wallet"],
      ...["delete_private_keys", "export_private_key", "import_private_key", "delete_secrets", "export_secrets"],
      ...["import_secrets"],
      ...["delete_user_tags", "delete_private_key_tags", "delete_smart_contract_interface", "disable_auth_proxy"],
      ...["delete_invitation", "update_user_name", "upsert_swap_config"],
    ];
    const changing = operations.flatMap((operation) =>
      operation.kind === "activity" && operation.carryOut.by === "changes" ? [operation.path] : [],
    );
    const others = Object.keys(factsOfOperations).filter((path) => !changing.includes(path));
    assert.deepEqual(
      changing.filter((path) => factsOfOperations[path] === undefined).sort(),
      silent.sort(),
      "say in provenance/facts-of-operations.ts what it makes, or name it here",
    );
    assert.deepEqual(others, [
      "create_sub_organization",
      "delete_sub_organization",
      "ACTIVITY_TYPE_RECOVER_ROOT_QUORUM",
      "ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS",
    ]);
  });
});

onEachEngine("where authority comes from", (server) => {
  const organizations = new Map<Path, string>();

  before(async () => {
    for (const path of REQUESTS) organizations.set(path, (await carryOut(server(), path)).organizationId);
  });

  const rowOf = async ({ in: path, row }: Edit) => {
    const organizationId = organizations.get(path) as string;
    const sql = row.replaceAll("$o", organizationId);
    const [found] = await server().opened.database.read.all<{ id: string }>({ sql, parameters: [] });
    assert.ok(found, sql);
    return { id: found.id, organizationId };
  };

  it("is told of nothing that requests have done", async () => {
    const { unaccounted, unknown, rows, accountedFor, archivedBefore } = await traceDatabase(server().databaseUrl);
    assert.deepEqual({ unaccounted, unknown, archivedBefore }, { unaccounted: [], unknown: [], archivedBefore: 0 });
    assert.equal(accountedFor, rows);
  });

  it("is told of nothing where the policy of an auth proxy was changed by a request", async () => {
    const { root, organizationId } = await createWorld(server());
    const { client } = root;
    await client.result("enable_auth_proxy", {});
    const { policies } = await client.read("list_policies");
    const { policyId } = policies.find(({ policyName }: Json) => policyName.startsWith("Auth proxy"));
    for (const change of [
      { policyCondition: "activity.resource == 'AUTH'" },
      { time: "true" },
      { policyConsensus: "true" },
    ]) {
      await client.result("update_policy", { policyId, ...change });
      assert.deepEqual((await traceDatabase(server().databaseUrl, { organizationId })).unaccounted, []);
    }
  });

  for (const edit of edits) {
    it(`shows ${edit.by}`, async () => {
      const { id, organizationId } = await rowOf(edit);
      const fresh = newId();
      const filled = (text: string) =>
        text.replaceAll("$id", id).replaceAll("$o", organizationId).replaceAll("$new", fresh);
      const { unaccounted, unknown } = await foundAfter(server().opened.database, [filled(edit.sql)]);
      const named =
        edit.what === WHAT.features ? unaccounted[0]?.examples[0]?.split(" ")[0] : filled(edit.told ?? "$id");
      const examples = [`${named} of organization ${edit.isOrganization ? named : organizationId}`];
      assert.deepEqual(
        { unaccounted, unknown },
        { unaccounted: [{ what: edit.what, count: 1, examples }], unknown: [] },
      );
    });
  }

  it("shows what is put back that an activity removed", async () => {
    const { root, user, organizationId } = await createWorld(server());
    const { client } = root;
    const params = { policyName: "Everything", effect: "EFFECT_ALLOW", consensus: "true", notes: "" };
    const { policyId } = await client.result("create_policy", params);
    const key = generateApiKey();
    const apiKeys = [apiKeyParams(key)];
    const { apiKeyIds } = await client.result("create_api_keys", { userId: user.userId, apiKeys });
    await client.result("delete_policy", { policyId });
    await client.result("delete_api_keys", { userId: user.userId, apiKeyIds });
    const newKey = (id: string) => `insert into api_keys
      (id, organization_id, user_id, name, credential_type, public_key, created_at, updated_at)
      values ('${id}', '${organizationId}', '${user.userId}', 'Back', 'CREDENTIAL_TYPE_API_KEY_P256', '${key.publicKey}', 1, 1)`;
    const fresh = newId();
    for (const [sql, what, id] of [
      [newKey(apiKeyIds[0]), "API keys that an activity removed", apiKeyIds[0]],
      [newKey(fresh), WHAT.keys, fresh],
      [
        `insert into policies (id, organization_id, name, effect, consensus, condition, notes, created_at, updated_at)
          values ('${policyId}', '${organizationId}', 'Everything', 'EFFECT_ALLOW', 'true', '', '', 1, 1)`,
        "policies that an activity removed",
        policyId,
      ],
    ]) {
      const { unaccounted } = await foundAfter(server().opened.database, [sql]);
      assert.deepEqual(unaccounted, [{ what, count: 1, examples: [`${id} of organization ${organizationId}`] }]);
    }
  });

  it("is not told of what is removed by a request while it is looked for", async () => {
    const { root, user } = await createWorld(server());
    const { client } = root;
    const inspection = await openInspection(server().databaseUrl);
    for (const when of [
      "from policies t",
      "from activities t",
      "from mfa_policies t",
      "from smart_contract_interfaces t",
    ]) {
      const apiKeys = [apiKeyParams(generateApiKey())];
      const { apiKeyIds } = await client.result("create_api_keys", { userId: user.userId, apiKeys });
      const { policyId } = await client.result("create_policy", {
        policyName: "For a while",
        effect: "EFFECT_DENY",
        notes: "",
      });
      let isDone = false;
      const all = async <Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]> => {
        const rows = await inspection.all<Row>(sql, parameters);
        if (!sql.includes(when) || isDone) return rows;
        isDone = true;
        await client.result("delete_api_keys", { userId: user.userId, apiKeyIds });
        await client.result("delete_policy", { policyId });
        return rows;
      };
      const traced = await traceAuthority({ database: { kind: inspection.kind, all }, operations });
      assert.ok(isDone, when);
      assert.deepEqual(traced?.unaccounted, [], when);
    }
    await inspection.close();
  });

  it("is looked for although somebody wrote what cannot be read", async () => {
    const organizationId = organizations.get("set_ip_allowlist") as string;
    const types = ["CREATE_USERS_V4", "CREATE_POLICY", "CREATE_POLICY_V3", "STAMP_LOGIN", "ACCEPT_INVITATION"];
    const broken = ["{", "null", "[]", '{"x": null}', '{"x": {"users": [null], "apiKeys": 1}}'].flatMap((text) =>
      types.map((type) => {
        const id = newId();
        const values = [organizationId, id, `ACTIVITY_TYPE_${type}`, "ACTIVITY_STATUS_COMPLETED", id, text, text];
        return `insert into activities (organization_id, id, type, status, fingerprint, intent, result, created_at, updated_at)
          values (${values.map((value) => `'${value}'`).join(", ")}, 1, 1)`;
      }),
    );
    const { database } = server().opened;
    assert.deepEqual((await foundAfter(database, broken)).unaccounted, []);
    const rows = ["{", "null", "[null]", '"x"'].map((text) => [
      `update ip_allowlists set rules = '${text}'`,
      `update mfa_policies set required_methods = '${text}'`,
      `update invitations set receiver_tag_ids = '${text}' where status = 'CREATED'`,
    ]);
    for (const edit of rows) {
      const whats = (await foundAfter(database, [...broken, ...edit])).unaccounted.map(({ what }) => what);
      assert.deepEqual(whats.sort(), [WHAT.allowlists, WHAT.mfa, WHAT.invitations].sort(), edit[0]);
    }
  });

  it("counts what it does not name", async () => {
    const organizationId = organizations.get("create_policies") as string;
    const { unaccounted } = await foundAfter(server().opened.database, [
      ...["a", "b", "c", "d"].map(
        (id) => `insert into tags (id, organization_id, type, name, created_at, updated_at)
          values ('${id}', '${organizationId}', 'TAG_TYPE_USER', '${id}', 1, 1)`,
      ),
      `insert into user_tag_members (organization_id, tag_id, member_id) select '${organizationId}', t.id, u.id
        from tags t, users u where t.organization_id = '${organizationId}' and u.organization_id = '${organizationId}'`,
    ]);
    assert.deepEqual(
      unaccounted.map(({ what, count, examples }) => [what, count, examples.length]),
      [[WHAT.tags, 8, 3]],
    );
  });

  it("finds the same however little it holds at once", async () => {
    const { database } = server().opened;
    const statements = [
      "update policies set condition = 'true || true'",
      "delete from mfa_policies",
      "update users set email = 'mallory@example.com' where phone_number is not null",
    ];
    const { accountedFor, ...whole } = await foundAfter(database, statements);
    assert.ok(whole.unaccounted.length === 3 && accountedFor < whole.rows, JSON.stringify(whole));
    assert.deepEqual(await foundAfter(database, statements, { claimsAtOnce: 10 }), { accountedFor, ...whole });
  });

  it("is looked for in one organization, and those below it", async () => {
    const { databaseUrl, opened } = server();
    const parent = organizations.get("create_sub_organization") as string;
    const whole = await traceDatabase(databaseUrl);
    const one = await traceDatabase(databaseUrl, { organizationId: parent });
    assert.deepEqual([one.unaccounted, one.accountedFor], [[], one.rows]);
    assert.ok(one.rows > 10 && one.rows < whole.rows, `${one.rows} of ${whole.rows} rows`);
    const [sub] = await opened.database.read.all<{ id: string }>({
      sql: `select id from organizations where parent_id = '${parent}'`,
      parameters: [],
    });
    const below = await traceDatabase(databaseUrl, { organizationId: sub?.id });
    assert.deepEqual([below.unaccounted, below.accountedFor], [[], below.rows]);
    const edit = [`update users set email = 'mallory@example.com' where organization_id = '${sub?.id}'`];
    for (const [organizationId, found] of [
      [parent, 1],
      [sub?.id, 1],
      [organizations.get("create_users"), 0],
    ] as const) {
      assert.equal((await foundAfter(opened.database, edit, { organizationId })).unaccounted.length, found);
    }
  });

  it("is not known of what archived activities may have done", async () => {
    const { database } = server().opened;
    const organizationId = organizations.get("create_policies") as string;
    const gone = ["votes", "policy_evaluations", "app_proofs"].map(
      (table) => `delete from ${table} where organization_id = '${organizationId}'`,
    );
    const removed = [...gone, `delete from activities where organization_id = '${organizationId}'`];
    const without = await foundAfter(database, removed);
    assert.ok(without.unaccounted.some(({ what }) => what === WHAT.policies));
    assert.deepEqual(without.unknown, []);
    const before = Date.now() + 1;
    const archived = [`insert into installation (name, value) values ('activities_archived_before', '${before}')`];
    const { unaccounted, unknown, archivedBefore } = await foundAfter(database, [...removed, ...archived]);
    assert.deepEqual([unaccounted, unknown, archivedBefore], [[], without.unaccounted, before]);
  });

  it("is looked for by keystead doctor, which names the command where that takes long", async () => {
    const { databaseUrl } = server();
    const agree = "the rows that say who may do what are consistent";
    const check = "authority";
    assert.deepEqual(await checkAuthority({ databaseUrl }), [
      { check, state: "ok", text: `${agree}, and completed activities account for them` },
    ]);
    const text = `${agree}; there are too many activities to compare them with here: run \`keystead verify-authority\``;
    assert.deepEqual(await checkAuthority({ databaseUrl, most: 5 }), [{ check, state: "ok", text }]);
    let now = 0;
    const [late] = await checkAuthority({ databaseUrl, clock: () => (now += DOCTOR_PROVENANCE_MS) });
    const untold =
      "it could not be checked within 30 s whether activities account for the rows; run `keystead verify-authority`";
    assert.deepEqual(late, { check, state: "warn", text: untold });
  });

  it("is given up where it is told to", async () => {
    assert.equal(await foundAfter(server().opened.database, [], { isLate: () => true }), undefined);
  });

  it("is looked for in pages, however many users and activities there are", async () => {
    const { database } = server().opened;
    const organizationId = newId();
    const users = await fillOrganization(database, organizationId, { users: 3_000, changes: 17_000 });
    const sizes: number[] = [];
    const all = async <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
      const rows = await database.read.all<Row>({ sql, parameters });
      sizes.push(rows.length);
      return rows;
    };
    const tracing = { database: { kind: database.kind, all }, operations, organizationId };
    const traced = await traceAuthority(tracing);
    assert.deepEqual([traced?.unaccounted, traced?.rows], [[], users.length + 1]);
    assert.ok(Math.max(...sizes) <= Math.max(AUTHORITY_ROWS_AT_ONCE, AUTHORITY_LARGE_ROWS_AT_ONCE), `${sizes}`);
    const pages = Math.ceil(20_001 / AUTHORITY_LARGE_ROWS_AT_ONCE) + Math.ceil(users.length / AUTHORITY_ROWS_AT_ONCE);
    // One more for each table, and for what else is asked once.
    assert.ok(sizes.length <= pages + 25, `${sizes.length} statements, ${pages} pages`);

    // With little room all activities are gone through again, and no more is held.
    sizes.length = 0;
    assert.deepEqual(await traceAuthority({ ...tracing, claimsAtOnce: 4_000 }), traced);
    assert.ok(
      sizes.length > pages + 25 && sizes.length <= 3 * pages + 25,
      `${sizes.length} statements, ${pages} pages`,
    );
  });
});

/** An organization with many users, each of whom has the address that one of many activities gave; resolves to their ids. */
async function fillOrganization(
  database: Database,
  organizationId: string,
  { users, changes }: { users: number; changes: number },
): Promise<string[]> {
  const ids = Array.from({ length: users }, newId);
  const times = { created_at: 2, updated_at: 2 };
  const row = { organization_id: organizationId, status: "ACTIVITY_STATUS_COMPLETED", failure: null, ...times };
  const activity = (type: string, name: string, intent: object, result: object) => {
    const id = newId();
    const told = {
      intent: JSON.stringify({ [`${name}Intent`]: intent }),
      result: JSON.stringify({ [`${name}Result`]: result }),
    };
    return { ...row, ...told, id, type, fingerprint: id };
  };
  const activities = [
    activity("ACTIVITY_TYPE_UPDATE_ROOT_QUORUM", "updateRootQuorum", { threshold: 1, userIds: [ids[0]] }, {}),
    ...ids.map((id) => activity("ACTIVITY_TYPE_CREATE_USERS_V4", "createUsers", { users: [{}] }, { userIds: [id] })),
    ...Array.from({ length: changes }, (_, index) => {
      const userId = ids[index % users];
      return activity(
        "ACTIVITY_TYPE_UPDATE_USER",
        "updateUser",
        { userId, userEmail: `${index}@example.com` },
        { userId },
      );
    }),
  ];
  const person = { organization_id: organizationId, root_id: organizationId, phone_number: null, version: 1, ...times };
  const rows = ids.map((id, index) => ({ ...person, id, name: "User", email: `${index}@example.com` }));
  await database.transact(organizationId, async (tx) => {
    const organization = { id: organizationId, parent_id: null, name: "Large", sealed_key: Buffer.alloc(1) };
    await tx
      .insertInto("organizations")
      .values({ ...organization, quorum_threshold: 1, created_at: 1, updated_at: 1 })
      .execute();
    for (let from = 0; from < rows.length; from += 500) {
      await tx
        .insertInto("users")
        .values(rows.slice(from, from + 500))
        .execute();
    }
    await tx
      .insertInto("root_quorum_members")
      .values({ organization_id: organizationId, user_id: ids[0] as string })
      .execute();
  });
  // Each in a transaction of its own, as these have a deadline that a busy machine may miss with all of them.
  for (let from = 0; from < activities.length; from += 500) {
    const values = activities.slice(from, from + 500);
    await database.transact(organizationId, (tx) => tx.insertInto("activities").values(values).execute());
  }
  return ids;
}
