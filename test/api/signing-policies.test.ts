import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { base58 } from "@scure/base";
import { p2wpkh, TEST_NETWORK, Transaction } from "@scure/btc-signer";
import { keccak256 } from "viem";
import { newId } from "../../src/kernel/ids.ts";
import type { Client, Json } from "../support/client.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * A policy over the transactions of a chain allows these alone: whatever else makes the same signature lacks the fact, and a
 * condition that needs a fact that is not there allows nothing.
 */

const TO = "0x3535353535353535353535353535353535353535";
const cases = (path: string): Json[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${path}.json`, import.meta.url), "utf8")).cases;
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const bytesOf = (hex: string): Buffer => Buffer.from(hex.replace(/^0x/, ""), "hex");
const account = (addressFormat: string, path: string, curve = "CURVE_SECP256K1") => ({
  curve,
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat,
});

const HEX = "PAYLOAD_ENCODING_HEXADECIMAL";
const typedData = (message: Json, domain: Json) =>
  JSON.stringify({
    types: {
      EIP712Domain: Object.keys(domain).map((name) => ({ name, type: name === "chainId" ? "uint256" : "string" })),
      tx: Object.keys(message).map((name) => ({ name, type: "uint256" })),
    },
    primaryType: "tx",
    domain,
    message,
  });

describe("policies over transactions", () => {
  let server: TestServer;
  let world: World;
  let root: Client;
  let user: Client;
  const keys: Record<string, string> = {};
  before(async () => {
    server = await startTestServer("sqlite");
    world = await createWorld(server);
    root = world.root.client;
    user = world.user.client;
    const accounts = [
      account("ADDRESS_FORMAT_ETHEREUM", "m/44'/60'/0'/0/0"),
      account("ADDRESS_FORMAT_ETHEREUM", "m/44'/60'/0'/0/1"),
      account("ADDRESS_FORMAT_TRON", "m/44'/195'/0'/0/0"),
      account("ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH", "m/84'/1'/0'/0/0"),
      account("ADDRESS_FORMAT_SOLANA", "m/44'/501'/0'/0'", "CURVE_ED25519"),
    ];
    const { addresses } = await root.result("create_wallet", { walletName: "Wallet", accounts });
    for (const [index, name] of ["ethereum", "other", "tron", "bitcoin", "solana"].entries()) {
      keys[name] = addresses[index];
    }
  });
  after(() => server.close());

  const allowing = async (condition: string, work: () => Promise<void>) => {
    const { policyId } = await root.result("create_policy", {
      policyName: `Policy ${newId()}`,
      effect: "EFFECT_ALLOW",
      condition,
      consensus: `approvers.any(u, u.id == '${world.user.userId}')`,
      notes: "",
    });
    await work();
    await root.result("delete_policy", { policyId });
  };
  const key = (name: string): string => keys[name] ?? assert.fail(name);
  const transact = (client: Client, signWith: string, type: string, unsignedTransaction: string) =>
    client.submit("sign_transaction", { signWith, type: `TRANSACTION_TYPE_${type}`, unsignedTransaction });
  const raw = (signWith: string, encoding: string, hashFunction: string, payload: string) =>
    user.submit("sign_raw_payload", { signWith, encoding, hashFunction, payload });
  const rawSeveral = (signWith: string, encoding: string, hashFunction: string, payloads: string[]) =>
    user.submit("sign_raw_payloads", { signWith, encoding, hashFunction, payloads });

  /** Every other way to the signature of the same bytes. */
  async function deniesPayloads(signWith: string, signed: Buffer, digests: string[]) {
    const answers = [];
    const messages = signWith === key("solana");
    const hashes = messages ? ["HASH_FUNCTION_NOT_APPLICABLE"] : ["HASH_FUNCTION_SHA256", "HASH_FUNCTION_KECCAK256"];
    for (const hash of hashes) {
      answers.push(await raw(signWith, HEX, hash, signed.toString("hex")));
      answers.push(await rawSeveral(signWith, HEX, hash, [signed.toString("hex")]));
      answers.push(await rawSeveral(signWith, HEX, hash, [signed.toString("hex"), "00"]));
    }
    for (const digest of digests) {
      answers.push(await raw(signWith, HEX, "HASH_FUNCTION_NO_OP", digest));
      answers.push(await rawSeveral(signWith, HEX, "HASH_FUNCTION_NO_OP", [digest, digest]));
    }
    if (!messages) {
      const authorization = JSON.stringify({ chainId: 1, address: TO, nonce: 0 });
      const data = typedData({ value: "1", nonce: "1", chain_id: "1" }, { name: "eth.tx", chainId: "1" });
      for (const [encoding, payload] of [
        ["PAYLOAD_ENCODING_EIP7702_AUTHORIZATION", authorization],
        ["PAYLOAD_ENCODING_EIP712", data],
      ] as const) {
        answers.push(await raw(signWith, encoding, "HASH_FUNCTION_NO_OP", payload));
        answers.push(await rawSeveral(signWith, encoding, "HASH_FUNCTION_NO_OP", [payload, payload]));
      }
    }
    for (const { status, body } of answers) assert.equal(status, 403, JSON.stringify(body));
  }

  const ethereumTransaction = () => cases("evm-transactions/valid").find(({ unsigned }) => unsigned.startsWith("02"));
  const solanaTransaction = () => {
    const [{ transaction, signers }] = cases("solana-transactions/valid");
    const [from, to] = [signers[0], key("solana")].map((address) =>
      Buffer.from(base58.decode(address)).toString("hex"),
    );
    return transaction.replaceAll(from, to) as string;
  };

  /** Conditions that hold for any transaction of the chain, also by what they deny. */
  const tautologies: [string, string[]][] = [
    ["ETHEREUM", ["eth.tx.nonce >= 0", "!(eth.tx.to == 'nobody')", "eth.tx.data != 'none' || true"]],
    ["TEMPO", ["tempo.tx.nonce >= 0", "!(tempo.tx.from == 'nobody')"]],
    ["SOLANA", ["solana.tx.instructions.count() >= 0", "solana.tx.transfers.all(t, true)"]],
    ["TRON", ["tron.tx.fee_limit >= 0", "tron.tx.contract.all(c, true)"]],
    ["BITCOIN", ["bitcoin.tx.fee >= 0", "bitcoin.tx.outputs.all(o, true)"]],
  ];

  for (const [chain, conditions] of tautologies) {
    it(`of ${chain} allow no payload, whatever its encoding or number`, async () => {
      const { unsigned, hash } = ethereumTransaction();
      for (const condition of conditions) {
        await allowing(condition, async () => {
          await deniesPayloads(key("ethereum"), bytesOf(unsigned), [hash, sha256(bytesOf(unsigned))]);
          await deniesPayloads(key("solana"), bytesOf(solanaTransaction()).subarray(65), []);
        });
      }
    });

    it(`of ${chain} allow no transaction of another chain`, async () => {
      const ethereum = ethereumTransaction().unsigned;
      const [{ unsigned: tempo, hash }] = cases("tempo-transactions/valid");
      assert.equal(keccak256(bytesOf(tempo)), `0x${hash}`);
      const sent: [string, string, string][] = [
        ["ETHEREUM", key("ethereum"), ethereum],
        ["TEMPO", key("ethereum"), tempo],
        ["SOLANA", key("solana"), solanaTransaction()],
      ];
      for (const condition of conditions) {
        await allowing(condition, async () => {
          for (const [type, signWith, unsigned] of sent) {
            const { status, body } = await transact(user, signWith, type, unsigned);
            assert.equal(status, type === chain ? 200 : 403, `${condition} ${type} ${JSON.stringify(body)}`);
          }
        });
      }
    });
  }

  it("see the key that signs, and no other", async () => {
    const { unsigned } = ethereumTransaction();
    const [{ unsigned: tempo }] = cases("tempo-transactions/valid");
    await allowing(`eth.tx.from == '${key("ethereum")}'`, async () => {
      assert.equal((await transact(user, key("ethereum"), "ETHEREUM", unsigned)).status, 200);
      assert.equal((await transact(user, key("other"), "ETHEREUM", unsigned)).status, 403);
    });
    await allowing(`tempo.tx.from == '${key("ethereum")}'`, async () => {
      assert.equal((await transact(user, key("ethereum"), "TEMPO", tempo)).status, 200);
      assert.equal((await transact(user, key("other"), "TEMPO", tempo)).status, 403);
    });
    await allowing("eth.tx.nonce >= 0", async () => {
      const nobody = await transact(user, `0x${"12".repeat(20)}`, "ETHEREUM", unsigned);
      assert.ok([403, 404].includes(nobody.status), "a key that is not there has no transaction");
      const solana = await transact(user, key("solana"), "ETHEREUM", unsigned);
      assert.ok([400, 403].includes(solana.status), "nor has one of another curve");
      const bitcoin = await transact(user, key("bitcoin"), "BITCOIN", unsigned);
      assert.equal(bitcoin.status, 400);
    });
  });

  it("let nothing be signed for another key, whatever they allow", async () => {
    await allowing("true", async () => {
      const [{ rawData }] = cases("tron-transactions/valid");
      const [{ transaction }] = cases("solana-transactions/valid");
      const [{ psbt }] = cases("bitcoin-psbt/signed");
      for (const [type, signWith, unsigned] of [
        ["TRON", "tron", rawData],
        ["SOLANA", "solana", transaction],
        ["BITCOIN", "bitcoin", psbt],
      ] as const) {
        const { status, body } = await transact(user, key(signWith), type, unsigned);
        assert.equal(status, 400);
        assert.match(body.message, /^invalid transaction: `parameters\.unsignedTransaction` /);
      }
    });
  });

  /** What a PSBT states of an output of 100,000 satoshis that it spends, and whether it brings along its transaction. */
  interface Spent {
    stated: bigint;
    proved?: boolean;
  }
  const SPENT = 100_000n;

  async function psbtOf(spent: Spent[], paid: bigint): Promise<string> {
    const { accounts } = await root.read("list_wallet_accounts");
    const { publicKey } = accounts.find(({ address }: Json) => address === key("bitcoin"));
    const { script } = p2wpkh(bytesOf(publicKey), TEST_NETWORK);
    const transaction = new Transaction();
    for (const [index, { stated, proved }] of spent.entries()) {
      const previous = new Transaction({ lockTime: index });
      previous.addInput({ txid: "11".repeat(32), index: 0 });
      previous.addOutput({ script, amount: SPENT });
      const proof = proved ? { nonWitnessUtxo: previous.toBytes() } : {};
      transaction.addInput({ txid: previous.id, index: 0, witnessUtxo: { script, amount: stated }, ...proof });
    }
    transaction.addOutput({ script, amount: paid });
    return Buffer.from(transaction.toPSBT()).toString("hex");
  }

  it("let no fee of Bitcoin be split into two lies", async () => {
    // Each signature covers the amount of its own input alone: the two together burn 100,000 satoshis.
    const lies = [
      [{ stated: SPENT }, { stated: 5_000n }],
      [{ stated: 5_000n }, { stated: SPENT }],
    ];
    await allowing("bitcoin.tx.fee <= 10000", async () => {
      for (const lie of lies) {
        const { status, body } = await transact(user, key("bitcoin"), "BITCOIN", await psbtOf(lie, SPENT));
        assert.equal(status, 403, JSON.stringify(body));
        const why = "there is no bitcoin.tx.fee: the amounts of inputs 0, 1 are not proved; add their non_witness_utxo";
        assert.ok(JSON.stringify(body).includes(why), JSON.stringify(body));
      }
    });
    const denial = { policyName: "dear", effect: "EFFECT_DENY", condition: "bitcoin.tx.fee > 10000", notes: "" };
    const { policyId } = await root.result("create_policy", denial);
    await allowing("true", async () => {
      for (const lie of lies) {
        assert.equal((await transact(user, key("bitcoin"), "BITCOIN", await psbtOf(lie, SPENT))).status, 403);
      }
    });
    await root.result("delete_policy", { policyId });
  });

  it("see the fee of Bitcoin where previous transactions prove the amounts, or one input signs its own", async () => {
    const proved = { stated: SPENT, proved: true };
    const both = await psbtOf([proved, proved], 2n * SPENT - 10_000n);
    const dear = await psbtOf([proved, proved], 2n * SPENT - 10_001n);
    const one = await psbtOf([{ stated: SPENT }], SPENT - 10_000n);
    await allowing("bitcoin.tx.fee <= 10000", async () => {
      assert.equal((await transact(user, key("bitcoin"), "BITCOIN", both)).status, 200);
      assert.equal((await transact(user, key("bitcoin"), "BITCOIN", dear)).status, 403);
      assert.equal((await transact(user, key("bitcoin"), "BITCOIN", one)).status, 200);
    });
    // What a policy does not ask for needs no proof.
    const unproved = await psbtOf([{ stated: SPENT }, { stated: SPENT }], SPENT);
    await allowing("bitcoin.tx.outputs.all(o, o.value <= 100000)", async () => {
      assert.equal((await transact(user, key("bitcoin"), "BITCOIN", unproved)).status, 200);
    });
  });

  it("take no member of typed data for what it is not declared as", async () => {
    const types = {
      name: ["string", "bytes"],
      version: ["string", "bytes1"],
      chainId: ["uint256", "string"],
      verifyingContract: ["address", "string"],
      amount: ["uint256", "string"],
    };
    const domain = { name: "0x35", version: "0x31", chainId: "1", verifyingContract: TO };
    const payloadWith = (other: string) => {
      const typeOf = (name: keyof typeof types) => ({ name, type: types[name][name === other ? 1 : 0] });
      const EIP712Domain = (["name", "version", "chainId", "verifyingContract"] as const).map(typeOf);
      const Payment = [typeOf("amount")];
      return JSON.stringify({
        types: { EIP712Domain, Payment },
        primaryType: "Payment",
        domain,
        message: { amount: "1" },
      });
    };
    const conditions: Record<keyof typeof types, string> = {
      name: "eth.eip_712.domain.name == '0x35'",
      version: "eth.eip_712.domain.version == '0x31'",
      chainId: "eth.eip_712.domain.chain_id == 1",
      verifyingContract: `eth.eip_712.domain.verifying_contract == '${TO}'`,
      amount: "eth.eip_712.message['amount'] <= 1",
    };
    const send = (other: string) =>
      raw(key("ethereum"), "PAYLOAD_ENCODING_EIP712", "HASH_FUNCTION_NO_OP", payloadWith(other));
    for (const [name, condition] of Object.entries(conditions)) {
      await allowing(condition, async () => {
        assert.equal((await send("none")).status, 200, condition);
        const { status, body } = await send(name);
        assert.equal(status, 403, condition);
        assert.equal(body.details[0].policyEvaluations[0].outcome, "OUTCOME_ERROR");
      });
    }
  });
});
