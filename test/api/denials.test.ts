import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { keyRoots, requestedSignings } from "../../src/policy/warnings.ts";
import type { Client, Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** A denial is for what it can see: what every request that signs has, and what a denial warns of beforehand. */

const cases = (path: string): Json[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${path}.json`, import.meta.url), "utf8")).cases;

/** Of each root, a condition that asks for it and is false. */
const probes: Record<string, string> = {
  "eth.tx": "eth.tx.nonce < 0",
  "eth.eip_712": "eth.eip_712.primary_type == ''",
  "eth.eip_7702_authorization": "eth.eip_7702_authorization.nonce < 0",
  "solana.tx": "solana.tx.instructions.count() < 0",
  "tron.tx": "tron.tx.contract.count() < 0",
  "bitcoin.tx": "bitcoin.tx.inputs.count() < 0",
  "tempo.tx": "tempo.tx.calls.count() < 0",
  private_key: "private_key.id == ''",
  wallet: "wallet.id == ''",
  wallet_account: "wallet_account.address == ''",
};

const typedData = JSON.stringify({
  types: { Mail: [{ name: "text", type: "string" }] },
  primaryType: "Mail",
  domain: { name: "Mail" },
  message: { text: "hi" },
});
const authorization = JSON.stringify({ chainId: 1, address: `0x${"11".repeat(20)}`, nonce: 0 });
const raw = (encoding: string, payload: string) => ({
  type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
  parameters: { payload, encoding: `PAYLOAD_ENCODING_${encoding}`, hashFunction: "HASH_FUNCTION_NO_OP" },
});
const transaction = (chain: string, unsignedTransaction: string) => ({
  type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
  parameters: { unsignedTransaction, type: `TRANSACTION_TYPE_${chain}` },
});

/** A request of each kind that `requestedSignings` tells of. */
const requests: Record<string, { type: string; parameters: object }> = {
  "raw payloads": raw("HEXADECIMAL", "00".repeat(32)),
  "typed data": raw("EIP712", typedData),
  authorizations: raw("EIP7702_AUTHORIZATION", authorization),
  "Ethereum transactions": transaction("ETHEREUM", cases("evm-transactions/valid")[0].unsigned),
  "Solana transactions": transaction("SOLANA", cases("solana-transactions/valid")[0].transaction),
  "Tron transactions": transaction("TRON", cases("tron-transactions/valid")[0].rawData),
  "Bitcoin transactions": transaction("BITCOIN", cases("bitcoin-psbt/signed")[0].psbt),
  "Tempo transactions": transaction("TEMPO", cases("tempo-transactions/valid")[0].unsigned),
};

onEachEngine("denials", (server) => {
  const policy = (effect: string, condition: string, index: number) => ({
    policyName: `policy ${index}`,
    effect: `EFFECT_${effect}`,
    condition,
    notes: "",
  });
  const account = (addressFormat: string, curve: string, path: string) => ({
    curve,
    pathFormat: "PATH_FORMAT_BIP32",
    path,
    addressFormat,
  });

  async function keysOf(root: Client): Promise<Record<string, { ed25519: string; secp256k1: string }>> {
    const { addresses } = await root.result("create_wallet", {
      walletName: "Wallet",
      accounts: [
        account("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", "m/44'/60'/0'/0/0"),
        account("ADDRESS_FORMAT_SOLANA", "CURVE_ED25519", "m/44'/501'/0'/0'"),
      ],
    });
    const { privateKeys } = await root.result("create_private_keys", {
      privateKeys: ["SECP256K1", "ED25519"].map((curve) => ({
        privateKeyName: curve,
        curve: `CURVE_${curve}`,
        privateKeyTags: [],
        addressFormats: [],
      })),
    });
    return {
      "wallet accounts": { secp256k1: addresses[0], ed25519: addresses[1] },
      "private keys": { secp256k1: privateKeys[0].privateKeyId, ed25519: privateKeys[1].privateKeyId },
    };
  }

  it("are warned of as they then are: every request has the roots that the warnings say", async () => {
    const { root, user } = await createWorld(server());
    const keys = await keysOf(root.client);
    const roots = Object.keys(probes);
    const denials = roots.map((name, index) => policy("DENY", probes[name] as string, index));
    const { policyIds } = await root.client.result("create_policies", { policies: denials });
    const told = new Set(requestedSignings.map(({ what }) => what));
    assert.deepEqual([...told].sort(), Object.keys(requests).sort());
    for (const { what, params, root: ofSigning } of requestedSignings) {
      for (const [kind, ofKey] of Object.entries(keyRoots)) {
        const { type, parameters } = requests[what] as (typeof requests)[string];
        const curve = what.startsWith("Solana") ? "ed25519" : "secp256k1";
        const activity = { type, parameters: { ...parameters, ...params, signWith: keys[kind]?.[curve] } };
        const { policyEvaluations } = await root.client.read("simulate_policy", { activity, userIds: [user.userId] });
        const present = roots.filter((_, index) => {
          const { outcome, explanation } = policyEvaluations.find(
            ({ policyId }: Json) => policyId === policyIds[index],
          );
          if (outcome === "OUTCOME_ERROR") assert.match(explanation, /so it does not deny this one/);
          return outcome === "OUTCOME_DENY_IMPLICIT";
        });
        const expected = [...(ofSigning === undefined ? [] : [ofSigning]), ...ofKey];
        assert.deepEqual(present.sort(), expected.sort(), `${what} with ${kind}`);
      }
    }
  });

  it("and allowances are warned of when they are made, changed and tried out", async () => {
    const { root, user } = await createWorld(server());
    const codesOf = ({ warnings = [] }: Json) => warnings.map(({ code }: Json) => code);
    const everything = { policyName: "everything", effect: "EFFECT_ALLOW", notes: "" };
    const allowance = await root.client.result("create_policy", everything);
    assert.deepEqual(allowance.warnings, [
      {
        policyId: allowance.policyId,
        code: "ALLOWS_EVERYTHING",
        message:
          "It allows every user of the organization everything that policies decide on. Name who in the consensus, and what in the condition.",
      },
    ]);
    const narrow = { ...everything, policyName: "narrow", condition: "activity.action == 'SIGN' && wallet.id == 'W'" };
    assert.deepEqual(Object.keys(await root.client.result("create_policy", narrow)), ["policyId"], "there is no trap");

    const byType = policy("DENY", "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'", 1);
    const uncounted = policy("ALLOW", "solana.tx.transfers.all(t, t.to == 'A')", 2);
    const fee = policy("DENY", "bitcoin.tx.fee > 50000", 3);
    const made = await root.client.result("create_policies", { policies: [byType, uncounted, fee] });
    const [, , feeId] = made.policyIds;
    assert.deepEqual(
      made.warnings.map(({ policyId, code }: Json) => `${made.policyIds.indexOf(policyId)} ${code}`),
      ["0 DENIAL_BY_TYPE", "1 SOLANA_TRANSFERS_UNCOUNTED", "2 BITCOIN_FEE_NEEDS_PROOF", "2 DENIAL_NOT_ABOUT"],
    );
    assert.match(made.warnings[3].message, /does not deny signing raw payloads, signing typed data, /);

    const version = { type: "ACTIVITY_TYPE_UPDATE_POLICY_V2" };
    const policyCondition = "activity.action == 'SIGN'";
    const mended = await root.client.result("update_policy", { policyId: feeId, policyCondition }, version);
    assert.deepEqual(mended, { policyId: feeId });
    const worsened = { policyId: feeId, policyEffect: "EFFECT_ALLOW", policyCondition: "true" };
    assert.deepEqual(codesOf(await root.client.result("update_policy", worsened, version)), ["ALLOWS_EVERYTHING"]);

    const activity = { type: "ACTIVITY_TYPE_DELETE_USERS", parameters: { userIds: [user.userId] } };
    const simulated = await root.client.read("simulate_policy", { activity, userIds: [user.userId] });
    assert.equal(simulated.outcome, "ALLOW");
    assert.deepEqual(codesOf(simulated).sort(), [
      "ALLOWS_EVERYTHING",
      "ALLOWS_EVERYTHING",
      "DENIAL_BY_TYPE",
      "SOLANA_TRANSFERS_UNCOUNTED",
    ]);
  });

  it("deny what an activity has and cannot be told: several payloads, secrets or wallets have no one meaning", async () => {
    const { root, user } = await createWorld(server());
    const keys = await keysOf(root.client);
    const signWith = keys["private keys"]?.secp256k1;
    const wallets: string[] = [];
    for (const walletName of ["One", "Two"]) {
      wallets.push((await root.client.result("create_wallet", { walletName, accounts: [] })).walletId);
    }
    const policies = [
      policy("ALLOW", "true", 0),
      policy("DENY", "eth.eip_712.primary_type == 'Permit'", 1),
      policy("DENY", "eth.eip_7702_authorization.chain_id == 5", 2),
      policy("DENY", "wallet.label == 'Two'", 3),
      policy("DENY", "secret.static_properties['kind'] == 'creditCard'", 4),
    ];
    await root.client.result("create_policies", { policies });
    const several = (encoding: string, payload: string, count: number): [string, object] => [
      "sign_raw_payloads",
      {
        signWith,
        payloads: Array.from({ length: count }, () => payload),
        encoding: `PAYLOAD_ENCODING_${encoding}`,
        hashFunction: "HASH_FUNCTION_NO_OP",
      },
    ];
    const statusOf = async ([path, parameters]: [string, object]) =>
      (await user.client.submit(path, parameters)).status;
    assert.equal(await statusOf(several("EIP712", typedData, 1)), 200);
    assert.equal(await statusOf(several("EIP712", typedData, 2)), 403);
    assert.equal(await statusOf(several("EIP7702_AUTHORIZATION", authorization, 1)), 200);
    assert.equal(await statusOf(several("EIP7702_AUTHORIZATION", authorization, 2)), 403);
    assert.equal(await statusOf(several("HEXADECIMAL", "00".repeat(32), 2)), 200, "it has no such thing");
    const deleteWallets = (walletIds: string[]): [string, object] => [
      "delete_wallets",
      { walletIds, deleteWithoutExport: true },
    ];
    assert.equal(await statusOf(deleteWallets(wallets)), 403);
    assert.equal(await statusOf(deleteWallets([wallets[1] as string])), 403, "that is the one");
    assert.equal(await statusOf(deleteWallets([wallets[0] as string])), 200);
    const denied = await user.client.submit(...deleteWallets([wallets[1] as string, wallets[0] as string]));
    assert.match(JSON.stringify(denied.body.details), /there is no wallet: the request is about several wallets/);
  });

  it("deny that a key is deleted as they deny that it signs, and allowances are for one key alone", async () => {
    const { root, user } = await createWorld(server());
    const tagged = { privateKeyTagName: "cold", privateKeyIds: [] };
    const { privateKeyTagId } = await root.client.result("create_private_key_tag", tagged);
    const { privateKeys } = await root.client.result("create_private_keys", {
      privateKeys: [[privateKeyTagId], [], []].map((privateKeyTags, index) => ({
        ...{ privateKeyName: `key ${index}`, curve: "CURVE_SECP256K1", privateKeyTags, addressFormats: [] },
      })),
    });
    const [cold, warm, other] = privateKeys.map(({ privateKeyId }: Json) => privateKeyId);
    const accountsOf: Record<string, string[]> = {};
    for (const walletName of ["Vault", "Till"]) {
      const paths = ["m/44'/60'/0'/0/0", "m/44'/60'/0'/0/1"];
      const accounts = paths.map((path) => account("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", path));
      const { walletId } = await root.client.result("create_wallet", { walletName, accounts });
      const listed = await root.client.read("list_wallet_accounts", { walletId });
      accountsOf[walletName] = listed.accounts.map(({ walletAccountId }: Json) => walletAccountId);
    }
    const [vault, till] = [accountsOf.Vault, accountsOf.Till] as [string[], string[]];
    const deleteKeys = (privateKeyIds: string[]) =>
      user.client.submit("delete_private_keys", { privateKeyIds, deleteWithoutExport: true });
    const deleteAccounts = (walletAccountIds: string[]) =>
      user.client.submit("delete_wallet_accounts", { walletAccountIds, deleteWithoutExport: true });

    const denials = [
      policy("ALLOW", "true", 0),
      policy("DENY", `private_key.tags.contains('${privateKeyTagId}')`, 1),
      policy("DENY", "wallet.label == 'Vault'", 2),
    ];
    const { policyIds } = await root.client.result("create_policies", { policies: denials });
    for (const ids of [[cold], [cold, warm], [warm, cold]]) assert.equal((await deleteKeys(ids)).status, 403);
    const denied = await deleteKeys([warm, cold]);
    assert.match(JSON.stringify(denied.body.details), /there is no private_key: the request is about several private/);
    for (const ids of [vault, vault.slice(1)]) assert.equal((await deleteAccounts(ids)).status, 403);

    await root.client.result("delete_policies", { policyIds });
    const allowed = ["private_key.label == 'key 2'", "wallet.label == 'Till'"];
    const allowances = allowed.map((condition, index) => policy("ALLOW", condition, index));
    await root.client.result("create_policies", { policies: allowances });
    assert.equal((await deleteKeys([warm, other])).status, 403);
    assert.equal((await deleteKeys([warm])).status, 403);
    assert.equal((await deleteKeys([other])).status, 200);
    assert.equal((await deleteAccounts([till[0] as string, vault[0] as string])).status, 403);
    assert.equal((await deleteAccounts([vault[0] as string])).status, 403);
    assert.equal((await deleteAccounts(till)).status, 200);
  });

  it("of several secrets deny, also where some of them are not known", async () => {
    const { root, user } = await createWorld(server());
    const denial = policy("DENY", "secret.static_properties['kind'] == 'creditCard'", 1);
    await root.client.result("create_policies", { policies: [policy("ALLOW", "true", 0), denial] });
    const activity = (count: number) => ({
      type: "ACTIVITY_TYPE_EXPORT_SECRETS",
      parameters: {
        secrets: Array.from({ length: count }, (_, index) => ({
          secretId: `01900000-0000-7000-8000-00000000000${index}`,
          targetPublicKey: "04".padEnd(130, "0"),
          encryptionSuite: "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1",
        })),
      },
    });
    const outcomeOf = async (count: number) =>
      (await root.client.read("simulate_policy", { activity: activity(count), userIds: [user.userId] })).outcome;
    assert.deepEqual([await outcomeOf(1), await outcomeOf(2)], ["ALLOW", "DENY"]);
  });
});
