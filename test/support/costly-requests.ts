import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { compressedFromShown } from "../../src/capabilities/private-keys/model.ts";
import { newId } from "../../src/kernel/ids.ts";
import {
  HIGHEST_USERS,
  MAX_ACCOUNTS_PER_REQUEST,
  MAX_AUTHENTICATORS_PER_USER,
  MAX_EXPIRING_API_KEYS_PER_USER,
  MAX_JSON_NAMES,
  MAX_LASTING_API_KEYS_PER_USER,
  MAX_LISTED_TVC_DEPLOYMENTS,
  MAX_OIDC_TOKEN_LENGTH,
  MAX_PAYLOADS,
  MAX_PIVOT_ARG_LENGTH,
  MAX_POLICIES,
  MAX_PSBT_INPUTS,
  MAX_SMART_CONTRACT_INTERFACE_BYTES,
  MAX_SMART_CONTRACT_INTERFACES_BYTES,
  MAX_SPARK_LEAVES,
  MAX_SPARK_OPERATORS,
  MAX_SPARK_SIGNATURES,
  MAX_TVC_OPERATORS_OF_SET,
  MAX_USERS,
} from "../../src/kernel/limits.ts";
import { createAuthenticator, type Faults } from "./authenticator.ts";
import { addUser, apiKeyParams, type Client, generateApiKey } from "./client.ts";
import { appParams, newDeployment, newOperator } from "./deployments.ts";
import { heavyCondition } from "./heavy-policies.ts";
import { issuerOfTests } from "./issuer.ts";
import { largePsbt } from "./large-psbts.ts";
import { leafIdsOf, newSparkWallet, Operators, transferOf } from "./spark.ts";
import type { World } from "./world.ts";

/** Valid requests of the costliest kinds. */

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export interface Costly {
  client: Client;
  path: string;
  body: string;
  /** 200 unless said. */
  status?: number;
}

const submitted = (client: Client, path: string, parameters: object, options = {}): Costly => ({
  client,
  path: `/public/v1/submit/${path}`,
  body: client.submitBody(path, parameters, options),
});

const asked = (client: Client, path: string, fields: object = {}): Costly => ({
  client,
  path: `/public/v1/query/${path}`,
  body: JSON.stringify({ organizationId: client.organizationId, ...fields }),
});

async function keyOf(client: Client): Promise<{ id: string; publicKey: Uint8Array }> {
  const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
  const id = privateKeys[0].privateKeyId;
  const { privateKey } = await client.read("get_private_key", { privateKeyId: id });
  return { id, publicKey: compressedFromShown("CURVE_SECP256K1", privateKey.publicKey) };
}

const signing = (signWith: string, index = 0) => ({
  signWith,
  payload: index.toString(16).padStart(64, "0"),
  encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
  hashFunction: "HASH_FUNCTION_NO_OP",
});

/** Beside the two that are there. */
const MORE_USERS = MAX_USERS - 2;

const userParams = (index: number) => ({
  userName: `user ${index}`,
  userTags: [],
  apiKeys: many(10, () => apiKeyParams(generateApiKey())),
  authenticators: [],
  oauthProviders: [],
});

/** With a certificate of its maker, which takes longest to verify. */
const passkeyParams = (faults: Faults = {}) => {
  const asked = { challenge: "challenge", origin: "https://app.example", rpId: "app.example" };
  const attestation = createAuthenticator().attest({ ...asked, format: "packed-x5c", faults });
  return { authenticatorName: "passkey", challenge: "challenge", attestation };
};

const policyParams = (index: number, more: object) => ({
  policyName: `policy ${index}`,
  effect: "EFFECT_ALLOW",
  notes: "",
  ...more,
});

const FORMATS = ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_SOLANA", "ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR"];
const accountParams = (index: number) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: `m/44'/60'/0'/0/${index}`,
  addressFormat: FORMATS[0],
});

/** Of the primary type `All`; it is refused for what hashing it would take. */
function typedData(signWith: string, client: Client, typed: { types: object; message: object }): Costly {
  const payload = JSON.stringify({ ...typed, primaryType: "All" });
  const more = { encoding: "PAYLOAD_ENCODING_EIP712", hashFunction: "HASH_FUNCTION_NO_OP" };
  return { ...submitted(client, "sign_raw_payload", { signWith, payload, ...more }), status: 400 };
}

/** Of the costliest kind, by name; what they need is made first. */
export const costlyRequests: Record<string, (world: World) => Promise<Costly>> = {
  "users with all the keys that they may have": async ({ root }) =>
    submitted(root.client, "create_users", { users: many(MORE_USERS, userParams) }),
  "a sub-organization of as many users": async ({ root }) =>
    submitted(root.client, "create_sub_organization", {
      subOrganizationName: "Large",
      rootUsers: many(MORE_USERS, (index) => {
        const { userTags, ...user } = userParams(index);
        return user;
      }),
      rootQuorumThreshold: 1,
    }),
  "users with all the passkeys that they may have": async ({ root }) =>
    submitted(root.client, "create_users", {
      users: many(MORE_USERS, (index) => ({
        ...userParams(index),
        apiKeys: [],
        authenticators: many(MAX_AUTHENTICATORS_PER_USER, () => passkeyParams()),
      })),
    }),
  "passkeys whose certificate chains have many members": async ({ root }) => {
    const members = many(20_000, () => 0);
    const statement = (made: Record<string, unknown>) => ({ ...made, x5c: [...(made.x5c as unknown[]), ...members] });
    const authenticators = () => many(MAX_AUTHENTICATORS_PER_USER, () => passkeyParams({ statement }));
    const users = many(10, (index) => ({ ...userParams(index), apiKeys: [], authenticators: authenticators() }));
    return submitted(root.client, "create_users", { users });
  },
  "users with as many OIDC tokens as there may be": async ({ root }) => {
    const issuer = await issuerOfTests();
    const claims = Object.fromEntries(many(200, (index) => [`claim ${index}`, index]));
    const filler = "x".repeat(MAX_OIDC_TOKEN_LENGTH * 0.45 - JSON.stringify(claims).length - 600);
    const users = many(MORE_USERS, async (index) => {
      const oidcToken = await issuer.token({ ...claims, filler, sub: newId(), aud: "app" });
      return { ...userParams(index), apiKeys: [], oauthProviders: [{ providerName: "Issuer", oidcToken }] };
    });
    return submitted(root.client, "create_users", { users: await Promise.all(users) });
  },
  "a list of many users": async ({ root }) => {
    await root.client.result("create_users", { users: many(MORE_USERS, userParams) });
    return asked(root.client, "list_users");
  },
  "a list of as many users with as many keys as an operator may allow": async ({ root, server, organizationId }) => {
    const { userIds } = await root.client.result("create_users", { users: many(MORE_USERS, userParams) });
    await server.opened.database.transact(organizationId, async (tx) => {
      const [user] = await tx.selectFrom("users").selectAll().where("id", "=", userIds[0]).execute();
      const [key] = await tx.selectFrom("api_keys").selectAll().where("user_id", "=", userIds[0]).execute();
      assert.ok(user && key);
      for (let index = MAX_USERS; index < HIGHEST_USERS; index++) {
        const id = newId();
        await tx
          .insertInto("users")
          .values({ ...user, id })
          .execute();
        const keys = many(MAX_LASTING_API_KEYS_PER_USER + MAX_EXPIRING_API_KEYS_PER_USER, () => ({
          ...key,
          id: newId(),
          name: '"'.repeat(255),
          user_id: id,
          public_key: randomBytes(33).toString("hex"),
        }));
        await tx.insertInto("api_keys").values(keys).execute();
      }
    });
    return asked(root.client, "list_users");
  },
  "a body of as many names as there may be": async ({ root }) => {
    const object = (first: number) =>
      Object.fromEntries(many(40, (index) => [`name ${first + index}`, "x".repeat(100)]));
    return asked(root.client, "whoami", { ignored: many(MAX_JSON_NAMES / 40 - 1, (index) => object(40 * index)) });
  },
  "a vote by the large body of its activity": async ({ root }) => {
    const [submitter, voter] = [await addUser(root.client, "Submitter"), await addUser(root.client, "Voter")];
    const { id } = await keyOf(root.client);
    await root.client.result("create_policy", policyParams(0, { consensus: "approvers.count() >= 3" }));
    const text = { payload: "x".repeat(250_000), encoding: "PAYLOAD_ENCODING_TEXT_UTF8" };
    const parameters = { signWith: id, ...text, hashFunction: "HASH_FUNCTION_KECCAK256" };
    const more = { filler: "\\".repeat(1_700_000) };
    const first = submitted(submitter.client, "sign_raw_payload", parameters, { more });
    assert.equal((await submitter.client.post(first.path, first.body)).status, 200);
    return { ...first, client: voter.client };
  },
  "policies as many and as long as they may be": async ({ root }) => {
    const condition = `activity.action in ['SIGN'${", 'EXPORT'".repeat(200)}]`;
    const policies = many(MAX_POLICIES, (index) => policyParams(index, { condition, consensus: "true" }));
    return submitted(root.client, "create_policies", { policies });
  },
  "a simulation of an approval by each of its users under hard policies": async ({ root }) => {
    const userIds = (await root.client.result("create_users", { users: many(MORE_USERS, userParams) })).userIds;
    const { id } = await keyOf(root.client);
    const hard = (index: number) =>
      `approvers.all(u, approvers.any(v, v.id != u.id && v.alias != u.alias)) && approvers.count() == ${60 + (index % 30)}`;
    const policies = many(MAX_POLICIES, (index) =>
      policyParams(index, { consensus: index === 0 ? "approvers.count() >= 97" : hard(index) }),
    );
    await root.client.result("create_policies", { policies });
    const activity = { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters: signing(id) };
    return { ...asked(root.client, "simulate_policy", { activity, userIds }), status: 400 };
  },
  "a signature that heavy policies are asked about": async ({ root, user }) => {
    const { id } = await keyOf(root.client);
    const consensus = `approvers.any(u, u.id == '${user.userId}') && approvers.count() >= 2`;
    const policies = many(20, (index) => policyParams(index, { condition: heavyCondition, consensus }));
    await root.client.result("create_policies", { policies });
    return { ...submitted(user.client, "sign_raw_payload", signing(id)), status: 400 };
  },
  "a page of open activities under heavy policies": async ({ root, user }) => {
    const { id } = await keyOf(root.client);
    const other = await addUser(root.client, "Other");
    const consensus = `approvers.any(u, u.id == '${user.userId}') && approvers.count() >= 2`;
    const policies = many(4, (index) => policyParams(index, { condition: heavyCondition, consensus }));
    await root.client.result("create_policies", { policies });
    for (let index = 0; index < 60; index++) await user.client.submit("sign_raw_payload", signing(id, index));
    return asked(other.client, "list_activities", { paginationOptions: { limit: "100" } });
  },
  "a schedule that is searched": async ({ root, user }) => {
    const { id } = await keyOf(root.client);
    const span = (index: number) =>
      `CronSpan('${index % 60} ${index % 24} 29 2 ${index % 7}', '23h', 'America/New_York')`;
    const policies = many(MAX_POLICIES, (index) => policyParams(index, { time: span(index), consensus: "true" }));
    await root.client.result("create_policies", { policies });
    return { ...submitted(user.client, "sign_raw_payload", signing(id)), status: 403 };
  },
  "as many payloads as one request may have signed": async ({ root }) => {
    const { id } = await keyOf(root.client);
    const payloads = many(MAX_PAYLOADS, (index) => signing(id, index).payload);
    const { payload, ...rest } = signing(id);
    return submitted(root.client, "sign_raw_payloads", { ...rest, payloads });
  },
  "as large a text as may be signed": async ({ root }) => {
    const { id } = await keyOf(root.client);
    const text = {
      payload: "é".repeat(250_000),
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    };
    return submitted(root.client, "sign_raw_payload", { signWith: id, ...text });
  },
  "typed data of many members under a policy that reads it": async ({ root, user }) => {
    const { id } = await keyOf(root.client);
    const condition = "eth.eip_712.primary_type == 'Order' && eth.eip_712.message['n0'] == '0'";
    await root.client.result("create_policies", {
      policies: many(MAX_POLICIES, (index) => policyParams(index, { condition, consensus: "true" })),
    });
    const names = many(600, (index) => `n${index}`);
    const typed = {
      types: {
        EIP712Domain: [{ name: "name", type: "string" }],
        Order: names.map((name) => ({ name, type: "uint256" })),
      },
      primaryType: "Order",
      domain: { name: "x" },
      message: Object.fromEntries(names.map((name, index) => [name, String(index)])),
    };
    const more = { encoding: "PAYLOAD_ENCODING_EIP712", hashFunction: "HASH_FUNCTION_NO_OP" };
    return submitted(user.client, "sign_raw_payload", { signWith: id, payload: JSON.stringify(typed), ...more });
  },
  "typed data of more empty structs than may be hashed": async ({ root }) =>
    typedData((await keyOf(root.client)).id, root.client, {
      types: { Empty: [], All: [{ name: "all", type: "Empty[]" }] },
      message: { all: many(20_000, () => ({})) },
    }),
  "typed data whose types all refer to a long one": async ({ root }) =>
    typedData((await keyOf(root.client)).id, root.client, {
      types: {
        Long: [{ name: "x".repeat(58_000), type: "uint256" }],
        ...Object.fromEntries(many(60, (index) => [`T${index}`, [{ name: "long", type: "Long[]" }]])),
        All: many(60, (index) => ({ name: `t${index}`, type: `T${index}` })),
      },
      message: Object.fromEntries(many(60, (index) => [`t${index}`, { long: [] }])),
    }),
  "as many payloads of typed data as one request may have": async ({ root }) => {
    const { id } = await keyOf(root.client);
    const payload = JSON.stringify({
      types: { All: [{ name: "a", type: "string[]" }] },
      primaryType: "All",
      message: { a: many(180, () => "") },
    });
    const more = { encoding: "PAYLOAD_ENCODING_EIP712", hashFunction: "HASH_FUNCTION_NO_OP" };
    const payloads = many(MAX_PAYLOADS, () => payload);
    return { ...submitted(root.client, "sign_raw_payloads", { signWith: id, payloads, ...more }), status: 400 };
  },
  "a PSBT of as many inputs as there may be, under a policy that reads it": async ({ root, user }) => {
    const { id, publicKey } = await keyOf(root.client);
    const condition = "bitcoin.tx.outputs.all(o, o.value >= 0) && bitcoin.tx.inputs.count() > 0";
    await root.client.result("create_policies", {
      policies: many(20, (index) => policyParams(index, { condition, consensus: "true" })),
    });
    const unsignedTransaction = largePsbt(publicKey, { kind: "P2WPKH", inputs: MAX_PSBT_INPUTS }).toString("hex");
    const parameters = { signWith: id, type: "TRANSACTION_TYPE_BITCOIN", unsignedTransaction };
    return submitted(user.client, "sign_transaction", parameters);
  },
  "an interface as large as it may be": async ({ root }) => {
    const abi = many(2000, (index) => ({
      type: "function",
      name: `function${index}`,
      inputs: many(2, (input) => ({ name: `a${input}`, type: "uint256[2][3]" })),
      outputs: [],
      stateMutability: "view",
    }));
    const parameters = {
      label: "large",
      notes: "",
      smartContractAddress: `0x${"11".repeat(20)}`,
      type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
      smartContractInterface: JSON.stringify(abi),
    };
    return submitted(root.client, "create_smart_contract_interface", parameters);
  },
  "a list of as many large interfaces as the quota lets": async ({ root, server, organizationId }) => {
    const size = MAX_SMART_CONTRACT_INTERFACE_BYTES;
    const times = { created_at: Date.now(), updated_at: Date.now() };
    await server.opened.database.transact(organizationId, async (tx) => {
      for (let index = 0; (index + 1) * size <= MAX_SMART_CONTRACT_INTERFACES_BYTES; index++) {
        const address = `0x${index.toString(16).padStart(40, "0")}`;
        const row = {
          id: newId(),
          organization_id: organizationId,
          type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM" as const,
          ...{ address, lookup: address, label: "large", notes: "" },
          ...{ interface_json: '"'.repeat(size), interface_bytes: size, ...times },
        };
        await tx.insertInto("smart_contract_interfaces").values(row).execute();
      }
    });
    return asked(root.client, "list_smart_contract_interfaces");
  },
  "a wallet of as many accounts as one request may make": async ({ root }) =>
    submitted(root.client, "create_wallet", {
      walletName: "wallet",
      accounts: many(MAX_ACCOUNTS_PER_REQUEST, accountParams),
    }),
  "a list of many accounts": async ({ root }) => {
    const { walletId } = await root.client.result("create_wallet", { walletName: "wallet", accounts: [] });
    for (let round = 0; round < 10; round++) {
      const accounts = many(MAX_ACCOUNTS_PER_REQUEST, (index) =>
        accountParams(round * MAX_ACCOUNTS_PER_REQUEST + index),
      );
      await root.client.result("create_wallet_accounts", { walletId, accounts });
    }
    return asked(root.client, "list_wallet_accounts", { walletId, paginationOptions: { limit: "100" } });
  },
  "a page of large activities": async ({ root }) => {
    const { id } = await keyOf(root.client);
    const { payload, ...rest } = signing(id);
    for (let round = 0; round < 60; round++) {
      const payloads = many(MAX_PAYLOADS, (index) => signing(id, round * MAX_PAYLOADS + index).payload);
      await root.client.result("sign_raw_payloads", { ...rest, payloads });
    }
    return asked(root.client, "list_activities", { paginationOptions: { limit: "100" } });
  },
  "as many Spark shares as fit into a body": async ({ root }) => {
    const { signWith, identityPublicKey } = await newSparkWallet(root.client);
    // Each point is looked at, whether it is another one or not.
    const { operatorRecipients } = new Operators(2, 2).recipients;
    const [hiding, binding] = operatorRecipients.map(({ encryptionPublicKey }) => encryptionPublicKey);
    const operatorCommitments = many(24, (index) => ({
      id: (index + 1).toString(16).padStart(64, "0"),
      hiding,
      binding,
    }));
    const signatures = many(MAX_SPARK_SIGNATURES, (index) => ({
      derivation: { signingLeaf: { leafId: newId() } },
      message: index.toString(16).padStart(64, "0"),
      verifyingKey: identityPublicKey,
      operatorCommitments,
    }));
    return submitted(root.client, "spark_sign_frost", { signWith, signatures });
  },
  "a Spark transfer to as many operators as there may be": async ({ root }) => {
    const { signWith, identityPublicKey } = await newSparkWallet(root.client);
    const { recipients } = new Operators(2, MAX_SPARK_OPERATORS);
    const transfer = transferOf(recipients, identityPublicKey, leafIdsOf(4));
    return submitted(root.client, "spark_prepare_transfer", { signWith, transfer });
  },
  "a Spark transfer of as many leaves as there may be": async ({ root }) => {
    const { signWith, identityPublicKey } = await newSparkWallet(root.client);
    const { recipients } = new Operators(2, 7);
    const transfer = transferOf(recipients, identityPublicKey, leafIdsOf(MAX_SPARK_LEAVES));
    return submitted(root.client, "spark_prepare_transfer", { signWith, transfer });
  },
  "an app of as many operators as there may be": async ({ root }) =>
    submitted(root.client, "create_tvc_app", largeApp()),
  "the deployments of such an app, as many as are listed": async ({ root, server, organizationId }) => {
    const { manifestSetParams, ...app } = largeApp();
    const operators = many(MAX_TVC_OPERATORS_OF_SET, (index) => newOperator(named("approver", index)));
    const pivotArgs = many(15, () => "x".repeat(MAX_PIVOT_ARG_LENGTH));
    const { appId, deploymentId, manifestSetOperatorIds } = await newDeployment(root.client, operators, {
      app,
      deployment: { pivotArgs },
    });
    await server.opened.database.transact(organizationId, async (tx) => {
      const [row] = await tx.selectFrom("tvc_deployments").selectAll().where("id", "=", deploymentId).execute();
      assert.ok(row);
      const times = { created_at: row.created_at, updated_at: row.updated_at };
      for (let index = 1; index < MAX_LISTED_TVC_DEPLOYMENTS; index++) {
        const ids = { id: newId(), manifest_id: newId() };
        await tx
          .insertInto("tvc_deployments")
          .values({ ...row, ...ids, deleted_at: 1, cleaned_up_at: 1 })
          .execute();
        const approval = {
          organization_id: organizationId,
          deployment_id: ids.id,
          signature: "00".repeat(64),
          ...times,
        };
        const approvals = manifestSetOperatorIds.map((operator_id: string) => ({
          ...approval,
          id: newId(),
          operator_id,
        }));
        await tx.insertInto("tvc_manifest_approvals").values(approvals).execute();
      }
    });
    return asked(root.client, "list_tvc_app_deployments", { appId });
  },
};

const named = (what: string, index: number): string => `${what} ${index} `.padEnd(255, "x");

const largeApp = () => {
  const set = (what: string) => many(MAX_TVC_OPERATORS_OF_SET, (index) => newOperator(named(what, index)));
  const newOperators = set("holder").map(({ name, publicKey }) => ({ name, publicKey }));
  return appParams(set("approver"), { shareSetParams: { name: "holders", newOperators, threshold: 2 } });
};
