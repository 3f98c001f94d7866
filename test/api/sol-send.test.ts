import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { base58 } from "@scure/base";
import { type Address, getTransactionDecoder } from "@solana/kit";
import { solanaChainSpellings } from "../../src/chains/solana/networks.ts";
import { parseTransaction, requiredSigners } from "../../src/chains/solana/transaction.ts";
import { MAX_OPEN_SENDS } from "../../src/kernel/limits.ts";
import type { Client, Json } from "../support/client.ts";
import { startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { compiled } from "../support/solana.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import {
  lamportsOf,
  latestBlockhash,
  NO_BLOCKHASH,
  newSolanaWallet,
  newStranger,
  SOL,
  sendStatus,
  transfer,
  type Unsigned,
  unsignedTransfer,
} from "../support/solana-sender.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const PATH = "sol_send_transaction";
const MAINNET = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const V1 = { type: "ACTIVITY_TYPE_SOL_SEND_TRANSACTION" };
const PASS = "pass on";

for (const engine of oneEngine("sqlite")) {
  describe(`${PATH} (${engine})`, () => {
    let node: SolanaNode;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;

    before(async () => {
      node = await startSolanaNode();
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 1000 }, [MAINNET]: { rpcUrls: [front.url] } },
      });
      ({ root } = server);
    });
    after(async () => {
      await server.close();
      await Promise.all([front.close(), node.close()]);
    });

    const newWallet = async (client: Client, count = 1) => (await newSolanaWallet(client, node, count)).addresses;
    const parametersOf = ({ wire, from }: Pick<Unsigned, "wire" | "from">, more: object = {}) => ({
      unsignedTransaction: wire.toString("hex"),
      signWiths: from,
      caip2: TEST_CLUSTER,
      ...more,
    });
    const submit = async (client: Client, parameters: object, options = {}): Promise<string> =>
      (await client.result(PATH, parameters, options)).sendTransactionStatusId;
    /** Sends it and expects it to be included. */
    const include = async (client: Client, unsigned: Unsigned, more: object = {}): Promise<Json> => {
      const status = await sendStatus(client, await submit(client, parametersOf(unsigned, more)));
      assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
      assert.equal(await lamportsOf(node, unsigned.to), SOL * BigInt(unsigned.from.length));
      return status;
    };
    const refusal = async (client: Client, parameters: object, message: RegExp, status = 400, options = {}) => {
      const answer = await client.submit(PATH, parameters, options);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
    };
    /** What the node was given, whole, in order and without repetitions. */
    const sent = (): Buffer[] => {
      const calls = front.calls.filter(({ method }) => method === "sendTransaction");
      return [...new Set(calls.map(({ params }) => String(params[0])))].map((text) => Buffer.from(text, "base64"));
    };
    const sentTo = (to: string): Buffer[] =>
      sent().filter((wire) => parseTransaction(wire, "wire").accounts.some(({ key }) => key === to));

    for (const version of ["legacy", 0] as const) {
      it(`signs a ${version} transaction, completes at once, and the chain has it`, async () => {
        const unsigned = unsignedTransfer(await newWallet(root), { version });
        const status = await include(root, unsigned);
        assert.deepEqual(Object.keys(status).sort(), ["solana", "txStatus"]);
        const [wire, ...others] = sentTo(unsigned.to);
        assert.deepEqual(others, []);
        assert.ok(wire);
        assert.equal(status.solana.signature, base58.encode(wire.subarray(1, 65)));
        assert.equal(parseTransaction(wire, "wire").version, version);
      });
    }

    it("tells webhooks of the parent what becomes of a sub-organization's, and the parent may ask", async () => {
      const receiver = await startReceiver();
      const world = await createWorld(server);
      const sub = await addSubOrganization(world.root.client);
      const subscriptions = [
        { eventType: "SEND_TRANSACTION_STATUS_UPDATES", filtersJson: JSON.stringify({ caip2: TEST_CLUSTER }) },
      ];
      await world.root.client.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
      const unsigned = unsignedTransfer(await newWallet(sub.client));
      const { activity } = (await sub.client.submit(PATH, parametersOf(unsigned))).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
      const id = activity.result.solSendTransactionResultV2.sendTransactionStatusId;
      const { organizationId } = sub.client;
      const parent = world.root.client.with({ organizationId });
      const { solana } = await sendStatus(parent, id);
      const told = (await receiver.waitFor(2)).map(({ body }) => JSON.parse(body) as Json);
      for (const body of told) {
        assert.equal(body.type, "transaction:status");
        assert.equal(body.organizationId, organizationId);
        assert.equal(body.parentOrganizationId, world.organizationId);
        assert.match(body.msg.idempotencyKey, /^[0-9a-f]{64}$/);
        assert.ok(Math.abs(body.msg.timestamp - Date.now() / 1000) < 600);
      }
      const common = { sendTransactionStatusId: id, activityId: activity.id, caip2: TEST_CLUSTER };
      const said = told.map(({ msg: { idempotencyKey: _, timestamp: __, ...rest } }) => rest);
      assert.deepEqual(said, [
        { ...common, status: "BROADCASTING" },
        { ...common, status: "INCLUDED", txHash: solana.signature },
      ]);
      assert.notEqual(told[0].msg.idempotencyKey, told[1].msg.idempotencyKey);
      await receiver.close();
    });

    it("tells nobody else what became of a transaction", async () => {
      const id = await submit(root, parametersOf(unsignedTransfer(await newWallet(root))));
      const other = (await createWorld(server)).root.client;
      const answer = await other.query("get_send_transaction_status", { sendTransactionStatusId: id });
      assert.equal(answer.status, 404, JSON.stringify(answer.body));
    });

    describe("takes", () => {
      it("every spelling of a cluster's name", async () => {
        const [from = "" as Address] = await newWallet(root);
        for (const caip2 of solanaChainSpellings) {
          const isOurs = /Et|devnet/.test(caip2);
          const unsigned = unsignedTransfer([from]);
          if (isOurs) await include(root, unsigned, { caip2 });
          else await refusal(root, parametersOf(unsigned, { caip2 }), new RegExp(`${MAINNET} is not available`), 503);
        }
      });

      it("the first version, with base64, hex or hex behind 0x", async () => {
        const [from = "" as Address] = await newWallet(root);
        for (const spelled of [
          (wire: Buffer) => wire.toString("base64"),
          (wire: Buffer) => wire.toString("hex"),
          (wire: Buffer) => `0x${wire.toString("hex").toUpperCase()}`,
        ]) {
          const { wire, to } = unsignedTransfer([from]);
          const parameters = { unsignedTransaction: spelled(wire), signWith: from, caip2: "solana:devnet" };
          const { activity } = (await root.submit(PATH, parameters, V1)).body;
          const { sendTransactionStatusId } = activity.result.solSendTransactionResult;
          assert.equal((await sendStatus(root, sendTransactionStatusId)).txStatus, "INCLUDED");
          assert.equal(await lamportsOf(node, to), SOL);
        }
        const broken = { unsignedTransaction: "AQ*", signWith: from, caip2: TEST_CLUSTER };
        await refusal(root, broken, /must be base64, or an even number of hex digits/, 400, V1);
      });

      it("the id of a private key in place of an address", async () => {
        const { privateKeys } = await root.result("create_private_keys", {
          privateKeys: [
            {
              privateKeyName: `Payer ${Math.random()}`,
              curve: "CURVE_ED25519",
              privateKeyTags: [],
              addressFormats: ["ADDRESS_FORMAT_SOLANA"],
            },
          ],
        });
        const [{ privateKeyId, addresses }] = privateKeys;
        const { address } = addresses[0];
        await node.call("requestAirdrop", address, Number(10n * SOL));
        await include(root, unsignedTransfer([address]), { signWiths: [privateKeyId] });
      });

      for (const count of [2, 11]) {
        it(`${count} signers, each signature in its place`, async () => {
          const addresses = await newWallet(root, count);
          const to = newStranger().address;
          const [payer = "" as Address, ...others] = addresses;
          // As small as can be: one instruction to which all but the payer sign.
          const instruction = transfer(payer, to, SOL);
          const accounts = [...(instruction.accounts ?? []), ...others.map((address) => ({ address, role: 2 }))];
          const blockhash = await latestBlockhash(node);
          const wire = compiled({ version: 0, payer, blockhash, instructions: [{ ...instruction, accounts }] });
          const signWiths = requiredSigners(parseTransaction(wire, "wire"));
          assert.equal(signWiths.length, count);
          const id = await submit(root, parametersOf({ wire, from: addresses }, { signWiths }));
          assert.equal((await sendStatus(root, id)).txStatus, "INCLUDED");
          assert.equal(await lamportsOf(node, to), SOL);
        });
      }

      it("signatures of others that are there already", async () => {
        const [ours = "" as Address] = await newWallet(root);
        const stranger = newStranger();
        await node.call("requestAirdrop", stranger.address, Number(10n * SOL));
        const unsigned = unsignedTransfer([ours, stranger.address], { blockhash: await latestBlockhash(node) });
        const signed = { ...unsigned, wire: stranger.sign(unsigned.wire) };
        await include(root, signed, { signWiths: [ours] });
        const [wire] = sentTo(unsigned.to);
        const given = getTransactionDecoder().decode(signed.wire).signatures[stranger.address];
        assert.deepEqual(getTransactionDecoder().decode(wire as Buffer).signatures[stranger.address], given);
      });
    });

    describe("the message that is signed", () => {
      const messageIn = (wire: Buffer): Buffer => Buffer.from(parseTransaction(wire, "wire").message);

      it("is the one that was given, byte for byte", async () => {
        const unsigned = unsignedTransfer(await newWallet(root), { blockhash: await latestBlockhash(node) });
        await include(root, unsigned);
        assert.deepEqual(sentTo(unsigned.to).map(messageIn), [messageIn(unsigned.wire)]);
      });

      it("has a blockhash in place of zeros, and nothing else is changed", async () => {
        const unsigned = unsignedTransfer(await newWallet(root), { version: 0 });
        await include(root, unsigned);
        const [wire] = sentTo(unsigned.to);
        const { recentBlockhash } = parseTransaction(wire as Buffer, "wire");
        assert.deepEqual(messageIn(wire as Buffer), messageIn(unsigned.at(recentBlockhash)));
        assert.equal(await validity(recentBlockhash), true);
      });

      it("has the blockhash that the request names in place of its own", async () => {
        const recentBlockhash = await latestBlockhash(node);
        const unsigned = unsignedTransfer(await newWallet(root), { blockhash: newStranger().address });
        await include(root, unsigned, { recentBlockhash });
        const [wire] = sentTo(unsigned.to);
        assert.equal(parseTransaction(wire as Buffer, "wire").recentBlockhash, recentBlockhash);
      });

      const validity = async (blockhash: string): Promise<boolean> =>
        ((await node.call("isBlockhashValid", blockhash, { commitment: "processed" })) as Json).value;
    });

    describe("refuses, and stores nothing,", () => {
      const cases: [
        name: string,
        parameters: (own: Address[]) => Promise<object> | object,
        message: RegExp,
        status?: number,
      ][] = [
        [
          "what does not fit into a packet",
          ([payer = "" as Address]) => {
            const data = new Uint8Array(1200);
            const instruction = { ...transfer(payer, newStranger().address, 1n), data };
            const wire = compiled({
              version: "legacy",
              payer,
              blockhash: newStranger().address,
              instructions: [instruction],
            });
            return { unsignedTransaction: wire.toString("hex"), signWiths: [payer], caip2: TEST_CLUSTER };
          },
          /has 1\d\d\d bytes; the network takes at most 1232/,
        ],
        [
          "twelve signers, which are more than a packet holds",
          () => {
            const from = Array.from({ length: 12 }, () => newStranger().address);
            const [payer = "" as Address] = from;
            const instructions = from.map((address) => transfer(address, newStranger().address, 1n));
            const wire = compiled({ version: 0, payer, blockhash: NO_BLOCKHASH, instructions });
            return parametersOf({ wire, from });
          },
          /bytes; the network takes at most 1232/,
        ],
        [
          "seventeen signers",
          (own) => parametersOf(unsignedTransfer(own), { signWiths: Array(17).fill(own[0]) }),
          /`parameters.signWiths`/,
        ],
        ["no signer", (own) => parametersOf(unsignedTransfer(own), { signWiths: [] }), /`parameters.signWiths`/],
        [
          "signers out of order, naming the order",
          (own) => {
            const unsigned = unsignedTransfer(own);
            return parametersOf(unsigned, { signWiths: unsigned.from.toReversed() });
          },
          /`parameters.signWiths.1` does not come after the one before it; the transaction's signers are, in this order/,
        ],
        [
          "a signer twice",
          (own) => parametersOf(unsignedTransfer(own), { signWiths: [own[0], own[0]] }),
          /`parameters.signWiths.1` does not come after/,
        ],
        [
          "a signer that does not sign",
          ([one = "" as Address, other]) => parametersOf(unsignedTransfer([one]), { signWiths: [other] }),
          /`parameters.signWiths.0` does not sign it; the transaction's signers are/,
        ],
        [
          "a signer that nobody knows",
          () => parametersOf(unsignedTransfer([newStranger().address])),
          /Could not find any resource to sign with/,
          404,
        ],
        [
          "a missing signature of somebody else",
          ([own = "" as Address]) => parametersOf(unsignedTransfer([own, newStranger().address]), { signWiths: [own] }),
          /has no valid signature by \w+ over the message that is sent/,
        ],
        [
          "a signature over another blockhash",
          async ([own = "" as Address]) => {
            const stranger = newStranger();
            const unsigned = unsignedTransfer([own, stranger.address], { blockhash: await latestBlockhash(node) });
            const signed = { ...unsigned, wire: stranger.sign(unsigned.wire) };
            return parametersOf(signed, { signWiths: [own], recentBlockhash: newStranger().address });
          },
          /has no valid signature by/,
        ],
        [
          "a blockhash that is none",
          (own) => parametersOf(unsignedTransfer(own), { recentBlockhash: "0OIl" }),
          /`parameters.recentBlockhash` must be a blockhash: 32 bytes in base58/,
        ],
        [
          "a durable nonce",
          ([own = "" as Address]) => {
            const advance = { ...transfer(own, newStranger().address, 1n), data: Uint8Array.of(4, 0, 0, 0) };
            const wire = compiled({
              version: 0,
              payer: own,
              blockhash: newStranger().address,
              instructions: [advance],
            });
            return parametersOf({ wire, from: [own] });
          },
          /durable nonce/,
        ],
        [
          "another chain",
          (own) => parametersOf(unsignedTransfer(own), { caip2: "solana:testnet" }),
          /`parameters.caip2`/,
        ],
        [
          "what is no transaction",
          (own) => parametersOf(unsignedTransfer(own), { unsignedTransaction: "0100" }),
          /is not a valid Solana transaction/,
        ],
      ];
      for (const [name, parameters, message, status] of cases) {
        it(name, async () => {
          const { root } = await createWorld(server);
          const own = await newWallet(root.client, 2);
          await refusal(root.client, await parameters(own), message, status);
          const filterByType = [`ACTIVITY_TYPE_${PATH.toUpperCase()}_V2`];
          assert.deepEqual((await root.client.read("list_activities", { filterByType })).activities, []);
        });
      }

      it("a key of another curve", async () => {
        const { privateKeys } = await root.result("create_private_keys", {
          privateKeys: [
            { privateKeyName: `K1 ${Math.random()}`, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] },
          ],
        });
        const unsigned = unsignedTransfer(await newWallet(root));
        const parameters = parametersOf(unsigned, { signWiths: [privateKeys[0].privateKeyId] });
        await refusal(root, parameters, /`parameters.signWiths.0` names a key on CURVE_SECP256K1/);
      });

      it("a cluster whose node serves another one", async () => {
        const unsigned = unsignedTransfer(await newWallet(root));
        const message = new RegExp(`serves ${TEST_CLUSTER} and not ${MAINNET}`);
        await refusal(root, parametersOf(unsigned, { caip2: "solana:mainnet" }), message, 503);
      });
    });

    describe("policies decide on what is sent", () => {
      const allow = (client: Client, condition: string, consensus = "true") =>
        client.result("create_policy", {
          policyName: `p ${Math.random()}`,
          effect: "EFFECT_ALLOW",
          condition,
          consensus,
          notes: "",
        });

      it("by its transfers, and nothing that is denied is signed or sent", async () => {
        const { root, user } = await createWorld(server);
        const from = await newWallet(root.client);
        const [allowed, denied] = [unsignedTransfer(from), unsignedTransfer(from)];
        await allow(
          root.client,
          `solana.tx.instructions.count() == 1 && solana.tx.transfers.all(t, t.to == '${allowed.to}' && t.amount == ${SOL})`,
        );
        assert.equal((await user.client.submit(PATH, parametersOf(denied))).status, 403);
        await include(user.client, allowed);
        assert.deepEqual(sentTo(denied.to), []);
      });

      it("with the blockhash that is sent, filled in or named", async () => {
        const { root, user } = await createWorld(server);
        const from = await newWallet(root.client);
        const recentBlockhash = await latestBlockhash(node);
        await allow(root.client, `solana.tx.recent_blockhash == '${recentBlockhash}'`);
        const named = unsignedTransfer(from, { blockhash: newStranger().address });
        assert.equal((await user.client.submit(PATH, parametersOf(named))).status, 403);
        await include(user.client, named, { recentBlockhash });
      });

      it("and a plan stays as it is while approvals are missing", async () => {
        const { root, user } = await createWorld(server);
        const unsigned = unsignedTransfer(await newWallet(root.client));
        await allow(root.client, "true", "approvers.count() == 2");
        const { activity } = (await user.client.submit(PATH, parametersOf(unsigned))).body;
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        const plan = async () => {
          const { read } = server.opened.database;
          const rows = await read.selectFrom("activities").select("plan").where("id", "=", activity.id).execute();
          return JSON.parse(rows[0]?.plan ?? "null") as Json;
        };
        const planned = await plan();
        assert.deepEqual(planned.signers, unsigned.from);
        assert.equal(planned.caip2, TEST_CLUSTER);
        node.pass(2);
        const { fingerprint } = activity;
        const approved = (await root.client.submit("approve_activity", { fingerprint })).body.activity;
        assert.equal(approved.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(approved));
        const { sendTransactionStatusId } = approved.result.solSendTransactionResultV2;
        assert.equal((await sendStatus(root.client, sendTransactionStatusId)).txStatus, "INCLUDED");
        const [wire] = sentTo(unsigned.to);
        assert.equal(parseTransaction(wire as Buffer, "wire").recentBlockhash, planned.recentBlockhash);
        assert.deepEqual(await plan(), planned);
      });

      it("where one key is allowed, and no other beside it", async () => {
        const { root, user } = await createWorld(server);
        const [wallet, other] = [await newSolanaWallet(root.client, node, 2), await newSolanaWallet(root.client, node)];
        await allow(root.client, `wallet.id == '${wallet.walletId}'`);
        await include(user.client, unsignedTransfer(wallet.addresses));
        const both = unsignedTransfer([wallet.addresses[0] as Address, other.addresses[0] as Address]);
        assert.equal((await user.client.submit(PATH, parametersOf(both))).status, 403);
        await allow(root.client, `wallet_account.address == '${wallet.addresses[0]}'`);
        assert.equal((await user.client.submit(PATH, parametersOf(both))).status, 403);
      });

      it("and a denial of one key holds beside any other", async () => {
        const { root, user } = await createWorld(server);
        const [wallet, other] = [await newSolanaWallet(root.client, node), await newSolanaWallet(root.client, node)];
        await allow(root.client, "true");
        const condition = `wallet.id == '${other.walletId}'`;
        const denial = { policyName: "d", effect: "EFFECT_DENY", condition, consensus: "true", notes: "" };
        await root.client.result("create_policy", denial);
        const both = unsignedTransfer([wallet.addresses[0] as Address, other.addresses[0] as Address]);
        assert.equal((await user.client.submit(PATH, parametersOf(both))).status, 403);
        await include(user.client, unsignedTransfer(wallet.addresses));
      });
    });

    describe("what becomes of it", () => {
      it("is FAILED with the logs where it would fail, and no node is given it", async () => {
        const [from = "" as Address] = await newWallet(root);
        const to = newStranger().address;
        const wire = compiled({
          version: 0,
          payer: from,
          blockhash: await latestBlockhash(node),
          instructions: [transfer(from, to, 100n * SOL)],
        });
        const status = await sendStatus(root, await submit(root, parametersOf({ wire, from: [from] })));
        assert.equal(status.txStatus, "FAILED");
        assert.match(status.txError, /^the transaction was not sent because it would fail: .*Custom/);
        assert.equal(status.error.message, status.txError);
        const { source, transactionErrorJson, logs, unitsConsumed } = status.error.solana;
        assert.equal(source, "simulation");
        assert.deepEqual(JSON.parse(transactionErrorJson), { InstructionError: [0, { Custom: 1 }] });
        assert.match(logs.join("\n"), /insufficient lamports/);
        assert.match(unitsConsumed, /^\d+$/);
        assert.deepEqual(sentTo(to), []);
      });

      it("is FAILED where nobody can pay the fee", async () => {
        const { addresses } = await root.result("create_wallet", {
          walletName: `Poor ${Math.random()}`,
          accounts: [
            {
              curve: "CURVE_ED25519",
              pathFormat: "PATH_FORMAT_BIP32",
              path: "m/44'/501'/0'/0'",
              addressFormat: "ADDRESS_FORMAT_SOLANA",
            },
          ],
        });
        const status = await sendStatus(root, await submit(root, parametersOf(unsignedTransfer(addresses))));
        assert.equal(status.txStatus, "FAILED");
        assert.match(status.error.solana.transactionErrorJson, /AccountNotFound|InsufficientFundsForFee/);
      });

      it("is INCLUDED with its error where it failed in a block", async () => {
        const [from = "" as Address] = await newWallet(root);
        const to = newStranger().address;
        const instructions = [transfer(from, to, 100n * SOL)];
        const wire = compiled({ version: 0, payer: from, blockhash: await latestBlockhash(node), instructions });
        front.when("simulateTransaction", ok({ err: null, logs: [], unitsConsumed: 150, innerInstructions: null }));
        const status = await sendStatus(root, await submit(root, parametersOf({ wire, from: [from] })));
        front.when("simulateTransaction", PASS);
        assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
        assert.match(status.txError, /^the transaction was included in a block, but failed: /);
        assert.deepEqual(JSON.parse(status.error.solana.transactionErrorJson), {
          InstructionError: [0, { Custom: 1 }],
        });
        assert.equal(status.error.solana.source, "execution");
        assert.ok(status.solana.signature);
      });

      it("is FAILED when its blockhash is too old and no block has it, and not before", async () => {
        const unsigned = unsignedTransfer(await newWallet(root));
        let given = 0;
        // A node that takes it and forgets it.
        front.when("sendTransaction", ({ params }) => {
          given++;
          return { result: base58.encode(Buffer.from(String(params[0]), "base64").subarray(1, 65)) };
        });
        const id = await submit(root, parametersOf(unsigned));
        await until(() => given >= 2, "it to be given to the node again");
        assert.equal((await sendStatus(root, id, ["BROADCASTING"])).txStatus, "BROADCASTING");
        node.pass(150);
        // The newest block knows the blockhash no more, and the last final one still may.
        node.pass(32);
        const status = await sendStatus(root, id);
        front.when("sendTransaction", PASS);
        assert.equal(status.txStatus, "FAILED");
        assert.match(status.txError, /^no block included the transaction before its blockhash \w+ became too old$/);
        assert.equal(new Set(sentTo(unsigned.to).map(String)).size, 1, "whatever was sent is the same transaction");
      });

      it("is not FAILED by a node that is behind and knows no status of it", async () => {
        const unsigned = unsignedTransfer(await newWallet(root));
        front.when("getSignatureStatuses", ({ params }) => {
          const value = (params[0] as string[]).map(() => null);
          return { result: { context: { slot: 1 }, value } };
        });
        const id = await submit(root, parametersOf(unsigned));
        await until(async () => (await lamportsOf(node, unsigned.to)) === SOL, "the chain to have it");
        node.pass(400);
        // Two for each look that finds it too old.
        await front.waitFor("isBlockhashValid", front.count("isBlockhashValid") + 6);
        assert.equal((await sendStatus(root, id, ["BROADCASTING", "FAILED"])).txStatus, "BROADCASTING");
        front.when("getSignatureStatuses", PASS);
        assert.equal((await sendStatus(root, id)).txStatus, "INCLUDED");
      });

      it("is FAILED where the blockhash is too old from the start", async () => {
        const blockhash = await latestBlockhash(node);
        node.pass(400);
        const unsigned = unsignedTransfer(await newWallet(root), { blockhash });
        const id = await submit(root, parametersOf(unsigned));
        await sendStatus(root, id, ["BROADCASTING"]);
        // It could be one that the node, which is behind, does not have yet.
        node.pass(200);
        const status = await sendStatus(root, id);
        assert.equal(status.txStatus, "FAILED");
        assert.match(status.txError, /became too old/);
        assert.equal(await lamportsOf(node, unsigned.to), 0n);
      });

      it("says why nodes did not take it", async () => {
        const unsigned = unsignedTransfer(await newWallet(root));
        front.when("sendTransaction", { error: { code: -32_003, message: "words of the node" } });
        const id = await submit(root, parametersOf(unsigned));
        await until(() => sentTo(unsigned.to).length > 0, "it to be given to the node");
        await until(async () => (await progressOf(id)).includes("words"), "the refusal to be kept in mind");
        node.pass(400);
        const status = await sendStatus(root, id);
        front.when("sendTransaction", PASS);
        assert.match(status.txError, /nodes did not take it: words of the node$/);
        assert.deepEqual(status.error.solana, {
          source: "broadcast",
          rpcCode: -32_003,
          rpcMessage: "words of the node",
        });
      });

      it("is not decided by what a simulation cannot tell", async () => {
        const unsigned = unsignedTransfer(await newWallet(root));
        front.when("simulateTransaction", ok({ err: "BlockhashNotFound", logs: [], unitsConsumed: 0 }));
        await include(root, unsigned);
        front.when("simulateTransaction", { error: { code: -32_601, message: "Method not found" } });
        await include(root, unsignedTransfer(unsigned.from));
        front.when("simulateTransaction", PASS);
      });

      it("is decided by what a node says of it in an error as well", async () => {
        const data = { err: { InstructionError: [0, "Custom"] }, logs: ["it would fail"], unitsConsumed: 7 };
        front.when("simulateTransaction", { error: { code: -32_002, message: "failed", data } });
        const unsigned = unsignedTransfer(await newWallet(root));
        const status = await sendStatus(root, await submit(root, parametersOf(unsigned)));
        front.when("simulateTransaction", PASS);
        assert.equal(status.txStatus, "FAILED");
        assert.deepEqual(status.error.solana.logs, ["it would fail"]);
      });

      const ok = (value: object) => ({ result: { context: { slot: 1000 }, value } });
      const progressOf = async (id: string): Promise<string> => {
        const { read } = server.opened.database;
        const rows = await read.selectFrom("send_transactions").select("progress").where("id", "=", id).execute();
        return rows[0]?.progress ?? "";
      };
    });

    describe("when the node", () => {
      /** Has it included although `meanwhile`. */
      const survives = async (meanwhile: (unsigned: Unsigned) => Promise<unknown>) => {
        const { root } = await createWorld(server);
        const unsigned = unsignedTransfer(await newWallet(root.client));
        const id = await submit(root.client, parametersOf(unsigned));
        await meanwhile(unsigned);
        const status = await sendStatus(root.client, id);
        assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
        assert.equal(await lamportsOf(node, unsigned.to), SOL);
        assert.equal(new Set(sentTo(unsigned.to).map(String)).size, 1);
      };

      it("is down, waits until it is back, and shows it in /readyz", async () => {
        // What is filled in was fetched before.
        front.when("simulateTransaction", "hang");
        await survives(async () => {
          await front.waitFor("simulateTransaction");
          await front.down();
          await until(async () => (await chains())[TEST_CLUSTER].status === "unavailable", "the node to be missed");
          front.when("simulateTransaction", PASS);
          await front.up();
        });
        await until(async () => (await chains())[TEST_CLUSTER].status === "ready", "the node to be seen again");
        await until(
          async () => (await chains())[MAINNET].status === "wrong chain",
          "the other cluster to be looked at",
        );
      });

      const odd: [name: string, method: string, reply: Parameters<RpcNode["when"]>[1]][] = [
        [
          "takes it and gives no answer",
          "sendTransaction",
          async ({ params }) => {
            await node.call("sendTransaction", ...params);
            return { status: 504, body: "" };
          },
        ],
        ["has no credit left", "sendTransaction", { status: 429, body: "" }],
        ["has no credit left for looks", "getSignatureStatuses", { status: 429, body: "" }],
        ["is behind", "getSignatureStatuses", { error: { code: -32_005, message: "Node is behind by 42 slots" } }],
        ["answers half", "getSignatureStatuses", { result: { context: { slot: 1 }, value: [] } }],
        [
          "answers half of a status",
          "getSignatureStatuses",
          { result: { context: { slot: 1 }, value: [{ slot: 1 }] } },
        ],
        ["answers half of a body", "sendTransaction", { status: 200, body: '{"jsonrpc":"2.0","id":1,"resu' }],
        ["answers another signature", "sendTransaction", { result: base58.encode(new Uint8Array(64)) }],
      ];
      for (const [name, method, reply] of odd) {
        it(`${name}, goes on`, async () => {
          const once: Parameters<RpcNode["when"]>[1] = async (call) => {
            front.when(method, PASS);
            return typeof reply === "function" ? reply(call) : reply;
          };
          front.when(method, once);
          await survives(async () => {});
        });
      }

      const chains = async (): Promise<Json> =>
        ((await (await fetch(`${server.baseUrl}/readyz`)).json()) as Json).chains;
    });

    it("follows a hundred at once, in looks that ask of all of them together", async () => {
      const { root } = await createWorld(server);
      const from = await newWallet(root.client);
      const [payer = "" as Address] = from;
      const to = newStranger().address;
      const blockhash = await latestBlockhash(node);
      const ids = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const instructions = [transfer(payer, to, SOL / 20n + BigInt(index))];
          const wire = compiled({ version: 0, payer, blockhash, instructions });
          const sent = root.client.resultOfMany(PATH, parametersOf({ wire, from }));
          return sent.then(({ sendTransactionStatusId }) => sendTransactionStatusId as string);
        }),
      );
      assert.equal(new Set(ids).size, 100);
      for (const id of ids) assert.equal((await sendStatus(root.client, id)).txStatus, "INCLUDED");
    });

    it(`has an organization send no more than ${MAX_OPEN_SENDS} at a time`, async () => {
      const { root, organizationId } = await createWorld(server);
      const unsigned = unsignedTransfer(await newWallet(root.client));
      // A chain that is away keeps them open.
      await server.opened.database.transact(organizationId, async (tx) => {
        for (let index = 0; index < MAX_OPEN_SENDS; index++) {
          await tx
            .insertInto("send_transactions")
            .values({
              organization_id: organizationId,
              id: `open-${index}`,
              activity_id: "none",
              caip2: MAINNET,
              status: index % 2 === 0 ? "INITIALIZED" : "BROADCASTING",
              signed_transaction: Buffer.alloc(1),
              transaction_hash: "none",
              sponsored: 0,
              error: null,
              progress: null,
              sent_at: null,
              created_at: 0,
              updated_at: 0,
            })
            .execute();
        }
      });
      await refusal(root.client, parametersOf(unsigned), /at most 256 transactions on their way/, 429);
      assert.deepEqual(sentTo(unsigned.to), []);
    });
  });
}
