import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { base58 } from "@scure/base";
import { AccountRole, type Address, createAddressWithSeed, type Instruction } from "@solana/kit";
import { sponsoredOutcome } from "../../src/capabilities/sponsoring/store.ts";
import { feeOf } from "../../src/chains/solana/compute-budget.ts";
import { parseTransaction } from "../../src/chains/solana/transaction.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_PLANNED_AT_ONCE, MAX_SPONSORED_FEE_LAMPORTS } from "../../src/kernel/limits.ts";
import { type Client, inTime, type Json } from "../support/client.ts";
import { type RpcNode, type RpcReply, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { compiled, factsByLibrary, SYSTEM_PROGRAM, TOKEN_PROGRAM } from "../support/solana.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { associated, makeAssociated, putLookupTable } from "../support/solana-programs.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import {
  lamportsOf,
  latestBlockhash,
  NO_BLOCKHASH,
  newStranger,
  SOL,
  sendStatus,
  transfer,
  unsignedTransfer,
} from "../support/solana-sender.ts";
import { closeTokenAccount, newMint } from "../support/solana-tokens.ts";
import { sponsorsOf, usedMicros } from "../support/sponsor.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const PATH = "sol_send_transaction";
const COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111" as Address;
const { WRITABLE, WRITABLE_SIGNER, READONLY, READONLY_SIGNER } = AccountRole;
/** US dollars for one SOL. */
const PRICE = 200n;
const PASS = "pass on";
/** Whether it is tried out before it is sent, with the blockhash that it was signed with. */
const isLastTrial = ([, options]: unknown[]): boolean => (options as Json).replaceRecentBlockhash !== true;

/** Transactions of Solana that the service pays for. */
for (const engine of oneEngine("postgres")) {
  describe(`${PATH} with sponsor (${engine})`, () => {
    let node: SolanaNode;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let sponsor: Address;

    before(async () => {
      node = await startSolanaNode();
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 1000 } },
        prices: { [`${TEST_CLUSTER}/slip44:501`]: `${PRICE}.00` },
      });
      ({ root } = server);
      sponsor = (await sponsorsOf(server.baseUrl)).solana as Address;
      await node.call("requestAirdrop", sponsor, Number(1000n * SOL));
    });
    afterEach(() => front.when("simulateTransaction", PASS));
    after(async () => {
      await server.close();
      await Promise.all([front.close(), node.close()]);
    });

    /** Accounts with so many lamports each, and nothing to pay fees with beside. */
    async function newAccounts(client: Client, amounts: bigint[]): Promise<Address[]> {
      const { addresses } = await client.result("create_wallet", {
        walletName: newId(),
        accounts: amounts.map((_, index) => ({
          curve: "CURVE_ED25519",
          pathFormat: "PATH_FORMAT_BIP32",
          path: `m/44'/501'/${index}'/0'`,
          addressFormat: "ADDRESS_FORMAT_SOLANA",
        })),
      });
      for (const [index, amount] of amounts.entries()) {
        if (amount > 0n) await node.call("requestAirdrop", addresses[index], Number(amount));
      }
      return addresses;
    }
    const newAccount = async (amount: bigint, client = root) => (await newAccounts(client, [amount]))[0] as Address;
    const built = (instructions: Instruction[], more: { payer?: Address; version?: "legacy" | 0 } = {}): Buffer => {
      const [first] = instructions.flatMap(({ accounts = [] }) => accounts);
      const payer = more.payer ?? (first?.address as Address);
      return compiled({ version: more.version ?? 0, payer, blockhash: newStranger().address, instructions });
    };
    const parametersOf = (wire: Buffer, signWiths: string[], more: object = {}) => ({
      unsignedTransaction: wire.toString("hex"),
      signWiths,
      sponsor: true,
      caip2: TEST_CLUSTER,
      ...more,
    });
    const submit = async (wire: Buffer, signWiths: string[], more: object = {}, client = root): Promise<string> =>
      (await client.result(PATH, parametersOf(wire, signWiths, more))).sendTransactionStatusId;
    const include = async (wire: Buffer, signWiths: string[], more: object = {}, client = root): Promise<Json> => {
      const status = await sendStatus(client, await submit(wire, signWiths, more, client));
      assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
      return status;
    };
    const refusal = async (wire: Buffer, signWiths: string[], message: RegExp, more: object = {}) => {
      const { status, body } = await root.submit(PATH, parametersOf(wire, signWiths, more));
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, message);
    };
    /** What the node was given under a signature. */
    const sentAs = (signature: string): Buffer => {
      const wires = front.calls
        .filter(({ method }) => method === "sendTransaction")
        .map(({ params }) => Buffer.from(String(params[0]), "base64"));
      return wires.find((wire) => base58.encode(wire.subarray(1, 65)) === signature) ?? assert.fail(signature);
    };
    /** What it cost the sponsor. */
    const costing = async (act: () => Promise<unknown>): Promise<bigint> => {
      const before = await lamportsOf(node, sponsor);
      await act();
      return before - (await lamportsOf(node, sponsor));
    };
    const microsOf = (amount: bigint): bigint => (amount * PRICE * 10n ** 6n + SOL - 1n) / SOL;

    it("is warned of in /readyz while the sponsor is poor", async () => {
      const poor = await startTestServer(engine, {
        chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 1000 } },
      });
      try {
        const { solana: another } = await sponsorsOf(poor.baseUrl);
        let body: Json = {};
        await until(async () => {
          body = (await (await fetch(`${poor.baseUrl}/readyz`)).json()) as Json;
          return body.warnings !== undefined;
        }, "the warning");
        assert.deepEqual(body.warnings, {
          [TEST_CLUSTER]: `the sponsor ${another} has 0 lamports: send it more, or sponsored transactions fail`,
        });
        const from = await newAccount(SOL, poor.root);
        const id = await submit(built([transfer(from, newStranger().address, SOL)]), [from], {}, poor.root);
        assert.equal((await sendStatus(poor.root, id)).txStatus, "FAILED", "and it cannot pay");
      } finally {
        await poor.close();
      }
    });

    for (const version of ["legacy", 0] as const) {
      it(`pays the fee of a ${version} transaction, whose sender loses what it sends and nothing more`, async () => {
        const from = await newAccount(SOL);
        const to = newStranger().address;
        const wire = built([transfer(from, to, SOL)], { version });
        let status: Json = {};
        const cost = await costing(async () => {
          status = await include(wire, [from]);
        });
        assert.equal(await lamportsOf(node, to), SOL);
        assert.equal(await lamportsOf(node, from), 0n);
        const signed = sentAs(status.solana.signature);
        const facts = factsByLibrary(signed);
        assert.equal(parseTransaction(signed, "signed").version, version);
        assert.deepEqual(facts.signers, [sponsor, from]);
        assert.deepEqual(facts.instructions.slice(0, 1), factsByLibrary(wire).instructions, "as it was given");
        assert.deepEqual(
          facts.instructions
            .slice(1)
            .map(({ program_key, instruction_data_hex }) => [program_key, instruction_data_hex.slice(0, 2)]),
          [
            [COMPUTE_BUDGET, "02"],
            [COMPUTE_BUDGET, "03"],
          ],
          "a limit and a price are added",
        );
        assert.ok(cost >= 10_000n && cost < 12_000n, `two signatures and little beside, not ${cost}`);
      });
    }

    it("keeps the compute budget that a transaction has", async () => {
      const from = await newAccount(SOL);
      const own = [unitLimit(50_000), unitPrice(2_000_000n)];
      const wire = built([...own, transfer(from, newStranger().address, SOL)], { payer: from });
      let status: Json = {};
      const cost = await costing(async () => {
        status = await include(wire, [from]);
      });
      assert.deepEqual(factsByLibrary(sentAs(status.solana.signature)).instructions, factsByLibrary(wire).instructions);
      assert.equal(cost, 10_000n + 100_000n);
    });

    it("takes several signers in their order, and the sponsor as fee payer already", async () => {
      const from = await newAccounts(root, [SOL, SOL, SOL]);
      const to = newStranger().address;
      for (const payer of [from[0] as Address, sponsor]) {
        const wire = built(
          from.map((address) => transfer(address, to, SOL / 2n)),
          { payer },
        );
        const signers = parseTransaction(wire, "wire")
          .accounts.filter(({ signer, key }) => signer && key !== sponsor)
          .map(({ key }) => key);
        await include(wire, signers);
      }
      assert.equal(await lamportsOf(node, to), 3n * SOL);
      const first = { type: "ACTIVITY_TYPE_SOL_SEND_TRANSACTION" };
      const again = await newAccount(SOL);
      const unsignedTransaction = built([transfer(again, to, SOL)]).toString("base64");
      const parameters = { unsignedTransaction, signWith: again, sponsor: true, caip2: "solana:devnet" };
      const { activity } = (await root.submit(PATH, parameters, first)).body;
      const { sendTransactionStatusId } = activity.result.solSendTransactionResult;
      assert.equal((await sendStatus(root, sendTransactionStatusId)).txStatus, "INCLUDED");
    });

    it("takes accounts from lookup tables, and none through which the sponsor would lose anything", async () => {
      const to = newStranger().address;
      const table = putLookupTable(node, [newStranger().address, to, sponsor]);
      const from = await newAccount(2n * SOL);
      const through = (addressIndex: number, address: Address): Buffer => {
        const [payer] = transfer(from, to, SOL).accounts ?? [];
        const looked = { address, addressIndex, lookupTableAddress: table, role: WRITABLE } as const;
        return built([{ ...transfer(from, to, SOL), accounts: [payer as { address: Address; role: 3 }, looked] }]);
      };
      await include(through(1, to), [from]);
      assert.equal(await lamportsOf(node, to), SOL);
      const cost = await costing(async () => {
        const status = await sendStatus(root, await submit(through(2, sponsor), [from]));
        assert.equal(status.txStatus, "FAILED");
        assert.match(status.error.solana.transactionErrorJson, /AccountLoadedTwice/);
      });
      assert.equal(cost, 0n);
    });

    describe("the blockhash", () => {
      const blockhashOf = (status: Json) => parseTransaction(sentAs(status.solana.signature), "wire").recentBlockhash;

      it("is a new one when the transaction is signed, also long after it was asked for", async () => {
        const { root: world, user } = await createWorld(server);
        const from = await newAccount(SOL, world.client);
        await allow(world.client, "true", "approvers.count() == 2");
        const wire = built([transfer(from, newStranger().address, SOL)]);
        const { activity } = (await user.client.submit(PATH, parametersOf(wire, [from]))).body;
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        // No block knows any blockhash of that time any more.
        node.pass(400);
        const fetched = front.count("getLatestBlockhash");
        await until(async () => {
          // It waits for an approval for ever.
          const { wire: other } = unsignedTransfer([from]);
          await user.client.submit(PATH, parametersOf(other, [from], { sponsor: false }));
          return front.count("getLatestBlockhash") > fetched;
        }, "the service to fetch another blockhash");
        const { activity: done } = (
          await world.client.submit("approve_activity", { fingerprint: activity.fingerprint })
        ).body;
        assert.equal(done.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(done));
        const { activity: shown } = await world.client.read("get_activity", { activityId: activity.id });
        const id = shown.result.solSendTransactionResultV2.sendTransactionStatusId;
        assert.equal((await sendStatus(world.client, id)).txStatus, "INCLUDED");
      });

      it("is a new one where the request names zeros", async () => {
        const from = await newAccount(SOL);
        const wire = built([transfer(from, newStranger().address, SOL / 2n)]);
        const recentBlockhash = NO_BLOCKHASH;
        assert.notEqual(blockhashOf(await include(wire, [from], { recentBlockhash })), recentBlockhash);
      });

      it("is refused where it is of no block of the cluster: another one would have the sponsor pay there", async () => {
        const { client } = await addSubOrganization(root);
        const from = await newAccount(SOL, client);
        const wire = built([transfer(from, newStranger().address, SOL / 2n)]);
        const recentBlockhash = newStranger().address;
        const { status, body } = await client.submit(PATH, parametersOf(wire, [from], { recentBlockhash }));
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(body.message, /`parameters\.recentBlockhash` is not the hash of a recent block on solana:/);
        assert.equal(await usedMicros(client), 0n);
      });

      it("is that of the request where it names one", async () => {
        const from = await newAccount(SOL);
        const recentBlockhash = await latestBlockhash(node);
        const wire = built([transfer(from, newStranger().address, SOL)]);
        const fetched = front.count("getLatestBlockhash");
        assert.equal(blockhashOf(await include(wire, [from], { recentBlockhash })), recentBlockhash);
        assert.equal(front.count("getLatestBlockhash"), fetched, "trials need none");
      });
    });

    describe("refuses, and signs nothing,", () => {
      it("what names the sponsor other than as fee payer", async () => {
        const from = await newAccount(SOL);
        const program = newStranger().address;
        const named = (role: AccountRole): Instruction => ({
          programAddress: program,
          accounts: [
            { address: from, role: WRITABLE_SIGNER },
            { address: sponsor, role },
          ],
          data: Uint8Array.of(1),
        });
        const theft = transfer(sponsor, from, SOL);
        for (const [name, wire] of [
          ["a transfer from it", built([theft], { payer: from })],
          ["a transfer from it, which pays", built([theft, transfer(from, program, 1n)], { payer: sponsor })],
          ...[WRITABLE_SIGNER, READONLY_SIGNER, WRITABLE, READONLY].map(
            (role) => [role, built([named(role)])] as const,
          ),
          [
            "an instruction for it",
            built([{ ...named(READONLY), programAddress: sponsor, accounts: [] }], { payer: from }),
          ],
        ] as const) {
          const signers = parseTransaction(wire, "wire").accounts.filter(
            ({ signer, key }) => signer && key !== sponsor,
          );
          const cost = await costing(() =>
            refusal(
              wire,
              signers.length > 0 ? signers.map(({ key }) => key) : [from],
              /names the sponsor|must name every signer|does not sign it/,
            ),
          );
          assert.equal(cost, 0n, String(name));
        }
      });

      it("what does not name every signer, or more than they are", async () => {
        const from = await newAccounts(root, [SOL, SOL]);
        const wire = built(from.map((address) => transfer(address, newStranger().address, 1n)));
        await refusal(
          wire,
          from.slice(0, 1),
          /`parameters.signWiths` must name every signer of a sponsored transaction/,
        );
        const unknown = await root.submit(
          PATH,
          parametersOf(built([transfer(sponsor, from[0] as Address, 1n)]), [sponsor]),
        );
        assert.equal(unknown.status, 404, "the sponsor's key is nobody's to sign with");
      });

      it("what does not fit with what is added, or costs too much", async () => {
        const from = await newAccount(SOL);
        const to = newStranger().address;
        const filled = { ...transfer(from, to, 1n), data: new Uint8Array(1000) };
        await refusal(built([filled]), [from], /has 1\d\d\d bytes with the fee payer and what else sponsoring adds/);
        const dear = [unitLimit(1_400_000), unitPrice(2n ** 63n)];
        const cost = await costing(() =>
          refusal(
            built([...dear, transfer(from, to, 1n)], { payer: from }),
            [from],
            new RegExp(
              `costs a fee of \\d+ lamports, and this service pays at most ${MAX_SPONSORED_FEE_LAMPORTS} .*lower`,
            ),
          ),
        );
        assert.equal(cost, 0n);
        // Without a limit of its own it is held to the most that it can get.
        await refusal(
          built([unitPrice(10_000_000n), transfer(from, to, 1n)], { payer: from }),
          [from],
          /costs a fee of/,
        );
        const verifying = { programAddress: "Ed25519SigVerify111111111111111111111111111" as Address };
        const many = Array.from({ length: 8 }, () => ({ ...verifying, data: Uint8Array.of(255, 0) }));
        await refusal(built([...many, transfer(from, to, 1n)], { payer: from }), [from], /costs a fee of/);
        const twice = [unitPrice(1n), unitPrice(1n), transfer(from, to, 1n)];
        await refusal(built(twice, { payer: from }), [from], /sets its compute unit price twice/);
      });

      it("a durable nonce", async () => {
        const from = await newAccount(SOL);
        const advance = { ...transfer(from, newStranger().address, 1n), data: Uint8Array.of(4, 0, 0, 0) };
        await refusal(built([advance]), [from], /durable nonce/);
      });
    });

    it("shows policies what will be signed: the sponsor, the budget, and no blockhash that is not known yet", async () => {
      const { root: world, user } = await createWorld(server);
      const from = await newAccount(2n * SOL, world.client);
      const [allowed, other] = [newStranger().address, newStranger().address];
      await allow(
        world.client,
        `solana.tx.account_keys[0] == '${sponsor}' && solana.tx.instructions.count() == 3 && solana.tx.transfers.all(t, t.to == '${allowed}')`,
      );
      const wireTo = (to: Address) => built([transfer(from, to, SOL / 4n)]);
      const isDenied = async (to: Address, why: string) => {
        const { status, body } = await user.client.submit(PATH, parametersOf(wireTo(to), [from]));
        assert.equal(status, 403, `${why}: ${JSON.stringify(body)}`);
      };
      await isDenied(other, "another receiver");
      await include(wireTo(allowed), [from], {}, user.client);
      await deny(world.client, `solana.tx.recent_blockhash == '${newStranger().address}'`);
      await isDenied(allowed, "what cannot be told is denied");
      await include(wireTo(allowed), [from], { recentBlockhash: await latestBlockhash(node) }, user.client);
      assert.equal(await lamportsOf(node, allowed), SOL / 2n);
    });

    describe("what it costs", () => {
      it("is counted when it is asked for, and put right by what became of it", async () => {
        const { client } = await addSubOrganization(root);
        const from = await newAccount(SOL, client);
        const wire = built([transfer(from, newStranger().address, SOL)]);
        const paid = await costing(() => include(wire, [from], {}, client));
        assert.equal(await usedMicros(client), microsOf(paid));
        // It fails when it is tried out, and costs nothing.
        const failing = built([transfer(from, newStranger().address, SOL)]);
        assert.equal((await sendStatus(client, await submit(failing, [from], {}, client))).txStatus, "FAILED");
        assert.equal(await usedMicros(client), microsOf(paid));
        // It fails in a block, and costs its fee.
        front.when("simulateTransaction", {
          result: { context: { slot: 1 }, value: { err: null, unitsConsumed: 150 } },
        });
        const more = await costing(async () => {
          const { txStatus, txError } = await sendStatus(client, await submit(failing, [from], {}, client));
          assert.deepEqual([txStatus, txError !== undefined], ["INCLUDED", true]);
        });
        front.when("simulateTransaction", PASS);
        assert.ok(more > 0n);
        assert.equal(await usedMicros(client), microsOf(paid) + microsOf(more));
      });

      it("is nothing for what no node was given: its sender does not learn the sponsor's signature", async () => {
        const { client } = await addSubOrganization(root);
        const from = await newAccount(0n, client);
        const released = Promise.withResolvers<void>();
        let tries = 0;
        front.when("simulateTransaction", async ({ params }): Promise<RpcReply> => {
          if (isLastTrial(params)) {
            tries++;
            await released.promise;
          }
          return PASS;
        });
        const recentBlockhash = await latestBlockhash(node);
        const wire = built([unitLimit(10_000), unitPrice(1n), transfer(from, newStranger().address, SOL)]);
        const id = await submit(wire, [from], { recentBlockhash }, client);
        await until(() => tries > 0, "it to be tried out");
        const { read } = server.opened.database;
        assert.deepEqual(await sponsoredOutcome(read, client.organizationId, id), { status: "PENDING" });
        released.resolve();
        const { txStatus, solana } = await sendStatus(client, id);
        assert.deepEqual([txStatus, solana], ["FAILED", {}]);
        assert.equal(await usedMicros(client), 0n);
      });

      it("is limited, also for many at once", async () => {
        const { root: world } = await createWorld(server);
        const { client } = world;
        const accounts = await newAccounts(
          client,
          Array.from({ length: 6 }, () => SOL),
        );
        const wires = accounts.map((from) =>
          built([unitPrice(1n), unitLimit(1_000_000), transfer(from, newStranger().address, SOL)], { payer: from }),
        );
        const one = microsOf(10_001n);
        const limit = `0.${String(3n * one + one / 2n).padStart(6, "0")}`;
        const config = { orgWindowLimitUsd: limit, subOrgWindowLimitUsd: "0", windowDurationMinutes: "60" };
        await client.result("upsert_gas_usage_config", config);
        const answers = await Promise.all(
          wires.map((wire, index) => client.submit(PATH, parametersOf(wire, [accounts[index] as string]))),
        );
        const [taken, refused] = [
          answers.filter(({ status }) => status === 200),
          answers.filter(({ status }) => status !== 200),
        ];
        assert.equal(taken.length, 3);
        for (const { status, body } of refused) {
          assert.equal(status, 429, JSON.stringify(body));
          assert.match(body.message, /no more than [\d.]+ US dollars/);
        }
        for (const { body } of taken) {
          const { sendTransactionStatusId } = body.activity.result.solSendTransactionResultV2;
          assert.equal((await sendStatus(client, sendTransactionStatusId)).txStatus, "INCLUDED");
        }
        await client.result("upsert_gas_usage_config", { ...config, orgWindowLimitUsd: "0", enabled: false });
        const from = accounts[5] as Address;
        const dear = [unitLimit(1_400_000), unitPrice(2n ** 63n), transfer(from, newStranger().address, SOL)];
        // Before anything is made of it, so that nothing else is said of one that costs too much.
        for (const wire of [wires[5] as Buffer, built(dear, { payer: from })]) {
          const off = await client.submit(PATH, parametersOf(wire, [from]));
          assert.match(off.body.message, /has turned sponsoring off; .* set `sponsor` to false/);
        }
      });
    });

    it("goes on for one organization while another's are stuck, however many these are", async () => {
      const [stuck, busy] = [await createWorld(server), await createWorld(server)];
      const from = await newAccount(SOL, stuck.root.client);
      const sink = newStranger().address;
      const held = (params: unknown[]) =>
        Buffer.from(String(params[0]), "base64").includes(Buffer.from(base58.decode(sink)));
      // Nodes try them out for ever, once they are signed.
      front.when("simulateTransaction", ({ params }) => (isLastTrial(params) && held(params) ? "hang" : PASS));
      const ids = [];
      for (let index = 0; index < 20; index++) {
        const wire = built([unitLimit(10_000 + index), unitPrice(1n), transfer(from, sink, 1_000_000n)], {
          payer: from,
        });
        ids.push(await submit(wire, [from], {}, stuck.root.client));
      }
      await until(() => front.open() > 0, "some of them to hang");
      const mine = await newAccount(SOL, busy.root.client);
      const to = newStranger().address;
      await include(built([transfer(mine, to, SOL)]), [mine], {}, busy.root.client);
      assert.equal(await lamportsOf(node, to), SOL);
      front.when("simulateTransaction", PASS);
      // Those that hung for too long have blockhashes that are too old by now.
      for (const id of ids) await sendStatus(stuck.root.client, id);
    });

    it("pays for no rent unless that is set", async () => {
      const from = await newAccount(10_000_000n);
      const { body } = await root.submit("upsert_gas_usage_config", {
        orgWindowLimitUsd: "0",
        subOrgWindowLimitUsd: "0",
        windowDurationMinutes: "60",
        solanaConfig: { rentPrefundEnabled: true },
      });
      assert.match(body.message, /does not pay rent, because `sponsorRent` is not set for any of its chains/);
      const [account] = await newAccounts(root, [0n]);
      const space = 165;
      const rent = node.svm.minimumBalanceForRentExemption(BigInt(space));
      const wire = built([createAccount(from, account as Address, rent, space)]);
      const signers = parseTransaction(wire, "wire").accounts.flatMap(({ signer, key }) => (signer ? [key] : []));
      const cost = await costing(() => include(wire, signers));
      assert.ok(cost < 20_000n);
      assert.equal(await lamportsOf(node, from), 10_000_000n - rent);
    });

    describe("with `sponsorRent`", () => {
      let paying: TestServer;
      let client: Client;
      let payer: Address;

      before(async () => {
        paying = await startTestServer(engine, {
          chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 1000, sponsorRent: true } },
        });
        client = paying.root;
        payer = (await sponsorsOf(paying.baseUrl)).solana as Address;
        await node.call("requestAirdrop", payer, Number(100n * SOL));
      });
      after(() => paying.close());

      const rentOf = (space: number): bigint => node.svm.minimumBalanceForRentExemption(BigInt(space));
      const [accountRent, mintRent] = [() => rentOf(165), () => rentOf(82)];
      /** What it cost the sponsor beside fees, and what became of it. */
      const granted = async (instructions: Instruction[], wanted = "INCLUDED"): Promise<bigint> => {
        const wire = built(instructions, { payer: signersIn(instructions)[0] as Address });
        const signers = parseTransaction(wire, "wire").accounts.flatMap(({ signer, key }) => (signer ? [key] : []));
        const before = await lamportsOf(node, payer);
        const status = await sendStatus(client, await submit(wire, signers, {}, client));
        assert.equal(status.txStatus, wanted, JSON.stringify(status));
        const paid = before - (await lamportsOf(node, payer));
        if (wanted !== "INCLUDED") return paid;
        const signed = parseTransaction(sentAs(status.solana.signature), "signed");
        return paid - feeOf(signed);
      };

      it("pays for accounts that it creates itself, of one who has nothing", async () => {
        const [from, account, mint] = (await newAccounts(client, [0n, 0n, 0n])) as [Address, Address, Address];
        const paid = await granted([
          createAccount(from, account, accountRent(), 165),
          createAccount(from, mint, mintRent(), 82),
        ]);
        assert.equal(paid, accountRent() + mintRent());
        assert.equal(await lamportsOf(node, account), accountRent());
        assert.equal(await lamportsOf(node, from), 0n);
      });

      it("pays for accounts that programs create, and not for those that are there", async () => {
        const from = await newAccount(0n, client);
        const mint = newMint(node, from);
        const account = await associated(from, mint);
        assert.equal(await granted([makeAssociated(from, from, mint, account)]), accountRent());
        assert.equal(await lamportsOf(node, account), accountRent());
        assert.equal(await granted([makeAssociated(from, from, mint, account)]), 0n);
        // Part of what it needs is there.
        const other = newMint(node, from);
        const second = await associated(from, other);
        await node.call("requestAirdrop", second, 1_000_000);
        assert.equal(await granted([makeAssociated(from, from, other, second)]), accountRent() - 1_000_000n);
      });

      it("asks for the exemption of each size once", async () => {
        const from = await newAccount(0n, client);
        const created = [];
        for (let index = 0; index < 3; index++) {
          const mint = newMint(node, from);
          created.push(makeAssociated(from, from, mint, await associated(from, mint)));
        }
        const asked = front.count("getMinimumBalanceForRentExemption");
        assert.equal(await granted(created), 3n * accountRent());
        assert.equal(
          front.count("getMinimumBalanceForRentExemption"),
          asked + 2,
          "when it is planned and when it is signed",
        );
      });

      it("pays for an account that a lookup table supplies, which is made of a seed", async () => {
        const from = await newAccount(0n, client);
        const seed = "stake";
        const account = await createAddressWithSeed({ baseAddress: from, programAddress: TOKEN_PROGRAM, seed });
        const table = putLookupTable(node, [newStranger().address, account]);
        const create = createAccountWithSeed(from, account, { seed, amount: accountRent(), space: 165 });
        const [payer] = create.accounts ?? [];
        const looked = { address: account, addressIndex: 1, lookupTableAddress: table, role: WRITABLE } as const;
        const through = { ...create, accounts: [payer as { address: Address; role: 3 }, looked] };
        assert.equal(await granted([through]), accountRent());
        assert.equal(await lamportsOf(node, account), accountRent());
        // What is there already is not made again, and nothing is granted for it.
        const { txStatus } = await sendStatus(client, await submit(built([through]), [from], {}, client));
        assert.equal(txStatus, "FAILED");
      });

      it("pays for what is exempt and no more, each signer's own part, and the payer's own money stays", async () => {
        const [one, other, first, second] = (await newAccounts(client, [SOL, SOL, 0n, 0n])) as [
          Address,
          Address,
          Address,
          Address,
        ];
        const paid = await granted([
          createAccount(one, first, accountRent() + 500n, 165),
          createAccount(other, second, mintRent(), 82),
          transfer(one, newStranger().address, SOL / 2n),
        ]);
        assert.equal(paid, accountRent() + mintRent());
        assert.equal(await lamportsOf(node, one), SOL / 2n - 500n);
        assert.equal(await lamportsOf(node, other), SOL);
      });

      it("pays for nothing that is closed again, moved about, or given to a wallet", async () => {
        const from = await newAccount(SOL, client);
        const mint = newMint(node, from);
        const account = await associated(from, mint);
        const closed = [makeAssociated(from, from, mint, account), closeTokenAccount(account, from, from)];
        assert.equal(await granted(closed), 0n);
        assert.equal(await granted([transfer(from, newStranger().address, SOL / 10n)]), 0n);
      });

      it("pays nothing for what fails, and only the fee where it fails in a block", async () => {
        const [from, account] = (await newAccounts(client, [0n, 0n])) as [Address, Address];
        const tooMuch = [createAccount(from, account, accountRent(), 165), transfer(from, newStranger().address, 1n)];
        assert.equal(await granted(tooMuch, "FAILED"), 0n);
        const trial = { context: { slot: 1 }, value: { err: null, unitsConsumed: 150 } };
        const kept = await newAccount(SOL / 100n, client);
        const before = await lamportsOf(node, kept);
        const [created] = await newAccounts(client, [0n]);
        const wire = [createAccount(kept, created as Address, accountRent(), 165)];
        // It is created by somebody else after the plan was made: the block undoes it all.
        front.when("simulateTransaction", async ({ params }) => {
          if (!isLastTrial(params)) return PASS;
          await node.call("requestAirdrop", created, 1_000_000);
          return { result: trial };
        });
        const paid = await granted(wire);
        front.when("simulateTransaction", PASS);
        assert.equal(paid, 0n);
        assert.equal(await lamportsOf(node, kept), before);
      });

      it("is not granted where somebody else makes the account before the last approval", async () => {
        const { root: world, user } = await createWorld(paying);
        await allow(world.client, "true", "approvers.count() == 2");
        const from = await newAccount(0n, world.client);
        const mint = newMint(node, from);
        const account = await associated(from, mint);
        const wire = built([makeAssociated(from, from, mint, account)]);
        const { activity } = (await user.client.submit(PATH, parametersOf(wire, [from]))).body;
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(activity));
        assert.equal(await granted([makeAssociated(await newAccount(0n, client), from, mint, account)]), accountRent());
        await world.client.submit("approve_activity", { fingerprint: activity.fingerprint });
        const { activity: failed } = await world.client.read("get_activity", { activityId: activity.id });
        assert.equal(failed.status, "ACTIVITY_STATUS_FAILED");
        assert.match(JSON.stringify(failed.failure), /creates other accounts than when it was submitted/);
        assert.equal(await lamportsOf(node, from), 0n);
      });

      it("waits with an approval while no node tries out what is granted", async () => {
        const { root: world, user } = await createWorld(paying);
        await allow(world.client, "true", "approvers.count() == 2");
        const [from, account] = (await newAccounts(world.client, [0n, 0n])) as [Address, Address];
        const wire = built([createAccount(from, account, accountRent(), 165)]);
        const { activity } = (await user.client.submit(PATH, parametersOf(wire, [from, account]))).body;
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(activity));
        const approve = () => world.client.submit("approve_activity", { fingerprint: activity.fingerprint });
        for (const reply of [
          { error: { code: -32_601, message: "Method not found" } },
          { result: { context: { slot: 1 }, value: { err: "ClusterMaintenance", unitsConsumed: 0 } } },
        ]) {
          front.when("simulateTransaction", reply);
          const { status, body } = await approve();
          front.when("simulateTransaction", PASS);
          assert.equal(status, 503, JSON.stringify(body));
          assert.match(body.message, /is not available: no node simulates transactions/);
        }
        const approval = world.client.submitBody("approve_activity", { fingerprint: activity.fingerprint });
        const { body } = await inTime(() => world.client.post("/public/v1/submit/approve_activity", approval));
        const { activity: done } = body;
        assert.equal(done?.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(body));
        const { sendTransactionStatusId } = done.result.solSendTransactionResultV2;
        assert.equal((await sendStatus(world.client, sendTransactionStatusId)).txStatus, "INCLUDED");
        assert.equal(await lamportsOf(node, account), accountRent());
      });

      it(`looks again at no more than ${MAX_PLANNED_AT_ONCE} of an organization at once, and at others' meanwhile`, async () => {
        const [{ root: world, user }, other] = [await createWorld(paying), await createWorld(paying)];
        await allow(world.client, "true", "approvers.count() == 2");
        const waiting: { fingerprint: string; from: Address }[] = [];
        for (let index = 0; index < MAX_PLANNED_AT_ONCE + 2; index++) {
          const [from, account] = (await newAccounts(world.client, [0n, 0n])) as [Address, Address];
          const wire = built([createAccount(from, account, accountRent(), 165)]);
          const { activity } = (await user.client.submit(PATH, parametersOf(wire, [from, account]))).body;
          waiting.push({ fingerprint: activity.fingerprint, from });
        }
        const [from, account] = (await newAccounts(other.root.client, [0n, 0n])) as [Address, Address];
        const theirs = built([createAccount(from, account, accountRent(), 165)]);
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        let inHand = 0;
        let most = 0;
        front.when("simulateTransaction", async ({ params }): Promise<RpcReply> => {
          const wire = parseTransaction(Buffer.from(String(params[0]), "base64"), "wire");
          const isTheirs = waiting.some(({ from }) => wire.accounts.some(({ key }) => key === from));
          if (!isTheirs || isLastTrial(params)) return PASS;
          inHand++;
          most = Math.max(most, inHand);
          await released;
          inHand--;
          return PASS;
        });
        const approving = waiting.map(({ fingerprint }) => {
          const approval = world.client.submitBody("approve_activity", { fingerprint });
          return inTime(() => world.client.post("/public/v1/submit/approve_activity", approval));
        });
        await until(() => inHand === MAX_PLANNED_AT_ONCE, "as many as may be looked at");
        const id = await submit(theirs, [from, account], {}, other.root.client);
        release();
        assert.equal((await sendStatus(other.root.client, id)).txStatus, "INCLUDED");
        for (const { status, body } of await Promise.all(approving)) {
          assert.equal(status, 200, JSON.stringify(body));
          const { sendTransactionStatusId } = body.activity.result.solSendTransactionResultV2;
          assert.equal((await sendStatus(world.client, sendTransactionStatusId)).txStatus, "INCLUDED");
        }
        front.when("simulateTransaction", PASS);
        assert.equal(most, MAX_PLANNED_AT_ONCE);
      });

      it("refuses more than it pays for one transaction", async () => {
        const [from, account] = (await newAccounts(client, [SOL, 0n])) as [Address, Address];
        const wire = built([createAccount(from, account, rentOf(7500), 7500)]);
        const { status, body } = await client.submit(PATH, parametersOf(wire, [from, account]));
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(
          body.message,
          /creates accounts whose rent is \d+ lamports, and this service pays at most 50000000/,
        );
      });

      it("leaves it to organizations that want none", async () => {
        const config = { orgWindowLimitUsd: "0", subOrgWindowLimitUsd: "0", windowDurationMinutes: "60" };
        const { client: sub } = await addSubOrganization(client);
        const prefund = (rentPrefundEnabled: boolean) =>
          client.result("upsert_gas_usage_config", { ...config, solanaConfig: { rentPrefundEnabled } });
        await prefund(false);
        const [from, account] = (await newAccounts(sub, [SOL, 0n])) as [Address, Address];
        await include(built([createAccount(from, account, accountRent(), 165)]), [from, account], {}, sub);
        assert.equal(await lamportsOf(node, from), SOL - accountRent());
        await client.result("upsert_gas_usage_config", config);
        const [again] = (await newAccounts(sub, [0n])) as [Address];
        await include(built([createAccount(from, again, accountRent(), 165)]), [from, again], {}, sub);
        assert.equal(await lamportsOf(node, from), SOL - 2n * accountRent(), "it stays so where that is not said");
        await prefund(true);
        const [last] = (await newAccounts(sub, [0n])) as [Address];
        await include(built([createAccount(from, last, accountRent(), 165)]), [from, last], {}, sub);
        assert.equal(await lamportsOf(node, from), SOL - 2n * accountRent());
      });
    });

    const policy = (client: Client, effect: string, condition: string, consensus = "true") =>
      client.result("create_policy", { policyName: newId(), effect, condition, consensus, notes: "" });
    const allow = (client: Client, condition: string, consensus?: string) =>
      policy(client, "EFFECT_ALLOW", condition, consensus);
    const deny = (client: Client, condition: string) => policy(client, "EFFECT_DENY", condition);
  });
}

const signersIn = (instructions: Instruction[]): Address[] =>
  instructions.flatMap(({ accounts = [] }) => accounts.flatMap(({ address, role }) => (role >= 2 ? [address] : [])));

function unitLimit(units: number): Instruction {
  const data = Buffer.alloc(5, 2);
  data.writeUInt32LE(units, 1);
  return { programAddress: COMPUTE_BUDGET, data: Uint8Array.from(data) };
}

function unitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9, 3);
  data.writeBigUInt64LE(microLamports, 1);
  return { programAddress: COMPUTE_BUDGET, data: Uint8Array.from(data) };
}

/** Of the Token program, unless it is another's. */
function createAccount(
  from: Address,
  account: Address,
  amount: bigint,
  space: number,
  owner = TOKEN_PROGRAM,
): Instruction {
  const data = Buffer.alloc(52);
  data.writeBigUInt64LE(amount, 4);
  data.writeBigUInt64LE(BigInt(space), 12);
  data.set(base58.decode(owner), 20);
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: WRITABLE_SIGNER },
      { address: account, role: WRITABLE_SIGNER },
    ],
    data: Uint8Array.from(data),
  };
}

/** Of the Token program, at the address that the seed makes. */
function createAccountWithSeed(
  from: Address,
  account: Address,
  { seed, amount, space }: { seed: string; amount: bigint; space: number },
): Instruction {
  const data = Buffer.alloc(92 + seed.length, 0);
  data.writeUInt32LE(3, 0);
  data.set(base58.decode(from), 4);
  data.writeBigUInt64LE(BigInt(seed.length), 36);
  data.write(seed, 44);
  data.writeBigUInt64LE(amount, 44 + seed.length);
  data.writeBigUInt64LE(BigInt(space), 52 + seed.length);
  data.set(base58.decode(TOKEN_PROGRAM), 60 + seed.length);
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: WRITABLE_SIGNER },
      { address: account, role: WRITABLE },
    ],
    data: Uint8Array.from(data),
  };
}
