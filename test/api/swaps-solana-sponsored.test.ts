import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AccountRole, type Address, type Instruction } from "@solana/kit";
import { addUser, type Client, type Json } from "../support/client.ts";
import { swapsOfTests } from "../support/relay.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { addressOf, TOKEN_2022_PROGRAM } from "../support/solana.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { assign, associated, makeAssociated, putLookupTable } from "../support/solana-programs.ts";
import { ROUTER, ROUTER_PROGRAM, throughRouter, VAULT } from "../support/solana-router.ts";
import { lamportsOf, latestBlockhash, newSolanaWallet, SOL, transfer } from "../support/solana-sender.ts";
import { offerOnSolana, SWAP_CLUSTER, SWAP_GENESIS, type SwapAmounts } from "../support/solana-swaps.ts";
import {
  moveCheckedTokens,
  moveTokens,
  newMint,
  newMint2022,
  newTokenAccount,
  newTokenAccount2022,
  tokensIn,
} from "../support/solana-tokens.ts";
import { sponsorsOf, usedMicros } from "../support/sponsor.ts";
import { quoted, swapEnded } from "../support/swap-world.ts";
import { createWorld } from "../support/world.ts";

const NATIVE = `${SWAP_CLUSTER}/slip44:501`;
const COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111" as Address;
const AMOUNT = 1_000_000n;
const STRANGER = addressOf(0x77);
/** US dollars for one SOL. */
const PRICE = 200n;
const microsOf = (amount: bigint): bigint => (amount * PRICE * 10n ** 6n + SOL - 1n) / SOL;

type Build = Parameters<typeof offerOnSolana>[1];

/** A wallet of an organization, and accounts of its tokens. */
interface Swapper {
  client: Client;
  wallet: Address;
  own: { input: Address; output: Address };
}

for (const engine of oneEngine("sqlite")) {
  describe(`swaps on Solana that the service pays for (${engine})`, () => {
    let node: SolanaNode;
    let server: TestServer;
    let sponsor: Address;
    let input: Address;
    let output: Address;
    let vaults: { input: Address; output: Address };

    /** With so many lamports of the sponsor's. */
    const startServer = async (more: object = {}, funds = 100n * SOL): Promise<TestServer> => {
      const started = await startTestServer(engine, {
        chains: { [SWAP_CLUSTER]: { rpcUrls: [node.url], pollMs: 1000, ...more } },
        prices: { [NATIVE]: `${PRICE}.00` },
        swaps: await swapsOfTests({ contracts: { [SWAP_CLUSTER]: [ROUTER] } }),
      });
      if (funds > 0n) await node.call("requestAirdrop", (await sponsorsOf(started.baseUrl)).solana, Number(funds));
      return started;
    };

    before(async () => {
      node = await startSolanaNode({ genesis: SWAP_GENESIS });
      node.svm.addProgram(ROUTER, ROUTER_PROGRAM);
      server = await startServer();
      sponsor = (await sponsorsOf(server.baseUrl)).solana as Address;
      [input, output] = [newMint(node, STRANGER), newMint(node, STRANGER)];
      vaults = {
        input: newTokenAccount(node, { mint: input, owner: VAULT }),
        output: newTokenAccount(node, { mint: output, owner: VAULT, amount: 10n ** 15n }),
      };
      await node.call("requestAirdrop", VAULT, Number(1000n * SOL));
    });
    after(async () => {
      await server.close();
      await node.close();
    });

    /** One with so many lamports, and tokens. */
    const newSwapper = async (amount = 0n, at = server): Promise<Swapper> => {
      const { client } = (await createWorld(at)).root;
      const [wallet] = (await newSolanaWallet(client, node, 1, amount)).addresses as [Address];
      const own = {
        input: newTokenAccount(node, { mint: input, owner: wallet, amount: 10n ** 12n }),
        output: newTokenAccount(node, { mint: output, owner: wallet }),
      };
      return { client, wallet, own };
    };
    const token = (mint: Address) => `${SWAP_CLUSTER}/token:${mint}`;
    const paramsOf = ({ wallet }: Swapper, inputToken = token(input), outputToken = token(output)) => ({
      signWith: wallet as string,
      inputToken,
      outputToken,
      inputAmount: String(AMOUNT),
    });
    const offer = ({ wallet }: Swapper, build: Build) => offerOnSolana(wallet, build);
    const pay = ({ wallet, own }: Swapper, amount: bigint) =>
      throughRouter(moveTokens(own.input, vaults.input, wallet, amount));
    const bring = ({ own }: Swapper, amount: bigint) =>
      throughRouter(moveTokens(vaults.output, own.output, VAULT, amount));
    const payLamports = ({ wallet }: Swapper, amount: bigint) => throughRouter(transfer(wallet, VAULT, amount));
    const bringLamports = ({ wallet }: Swapper, amount: bigint) => throughRouter(transfer(VAULT, wallet, amount));
    const honest =
      (of: Swapper) =>
      (amounts: SwapAmounts): Instruction[] => [pay(of, amounts.input), bring(of, amounts.output)];
    const execute = async (
      { client }: Swapper,
      params: ReturnType<typeof paramsOf>,
      more: object = {},
    ): Promise<Json> => {
      const { swapRequestId } = await client.result(
        "execute_swap",
        await quoted(client, params, { sponsor: true, ...more }),
      );
      return swapEnded(client, swapRequestId);
    };
    const refused = async ({ client }: Swapper, path: string, params: object, message: RegExp, wanted = 400) => {
      const { status, body } = await client.submit(path, params);
      assert.equal(status, wanted, JSON.stringify(body));
      assert.match(body.message, message);
    };
    /** What it cost the sponsor. */
    const costing = async (act: () => Promise<unknown>, payer = sponsor): Promise<bigint> => {
      const was = await lamportsOf(node, payer);
      await act();
      return was - (await lamportsOf(node, payer));
    };
    const shownBy = async (signature: string): Promise<Json> =>
      (await node.call("getTransaction", signature, { commitment: "confirmed" })) as Json;

    it("need no SOL of the wallet, cost the sponsor the fee, and are counted for what they cost", async () => {
      const swapper = await newSwapper();
      await offer(swapper, honest(swapper));
      let status: Json = {};
      const cost = await costing(async () => {
        status = await execute(swapper, paramsOf(swapper));
      });
      assert.deepEqual([status.status, status.outputAmount], ["COMPLETED", String(AMOUNT)], JSON.stringify(status));
      assert.equal(await lamportsOf(node, swapper.wallet), 0n);
      assert.equal(tokensIn(node, swapper.own.input), 10n ** 12n - AMOUNT);
      assert.equal(tokensIn(node, swapper.own.output), AMOUNT);
      const { transaction, meta } = await shownBy(status.originTxHash);
      const { accountKeys, header } = transaction.message;
      assert.deepEqual(accountKeys.slice(0, header.numRequiredSignatures), [sponsor, swapper.wallet]);
      assert.equal(cost, BigInt(meta.fee));
      assert.ok(cost >= 10_000n && cost < 12_000n, `two signatures and little beside, not ${cost}`);
      assert.equal(await usedMicros(swapper.client), microsOf(cost));
    });

    it("take the caller's blockhash, and bring SOL to a wallet that has none", async () => {
      const swapper = await newSwapper();
      await offer(swapper, (of) => [pay(swapper, of.input), bringLamports(swapper, of.output)]);
      const recentBlockhash = await latestBlockhash(node);
      const status = await execute(swapper, paramsOf(swapper, token(input), NATIVE), { recentBlockhash });
      assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
      assert.equal(await lamportsOf(node, swapper.wallet), AMOUNT);
      assert.equal((await shownBy(status.originTxHash)).transaction.message.recentBlockhash, recentBlockhash);
    });

    it("take all the SOL that a wallet has where that is the input, and no more", async () => {
      const swapper = await newSwapper(AMOUNT);
      await offer(swapper, (of) => [payLamports(swapper, of.input), bring(swapper, of.output)]);
      const status = await execute(swapper, paramsOf(swapper, NATIVE));
      assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
      assert.equal(await lamportsOf(node, swapper.wallet), 0n);
      const richer = await newSwapper(2n * SOL);
      await offer(richer, (of) => [payLamports(richer, of.input + 1n), bring(richer, of.output)]);
      assert.match((await execute(richer, paramsOf(richer, NATIVE))).error.message, /take more than the amount/);
    });

    it("go through lookup tables", async () => {
      const swapper = await newSwapper();
      const table = putLookupTable(node, [vaults.input, vaults.output, VAULT]);
      await offer(swapper, (of) => ({ instructions: honest(swapper)(of), tables: [table] }));
      const status = await execute(swapper, paramsOf(swapper));
      assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
      const { loadedAddresses } = (await shownBy(status.originTxHash)).meta;
      assert.deepEqual(loadedAddresses.writable.toSorted(), [vaults.input, vaults.output].toSorted());
    });

    it("show policies what will be signed: the sponsor, the budget and the blockhash", async () => {
      const swapper = await newSwapper();
      const user = await addUser(swapper.client, "swapper");
      const policy = (policyName: string, condition: string) =>
        swapper.client.result("create_policy", {
          policyName,
          effect: "EFFECT_ALLOW",
          consensus: `approvers.any(user, user.id == '${user.userId}')`,
          condition,
          notes: "",
        });
      await offer(swapper, honest(swapper));
      await policy("quotes", "activity.kind == 'CREATE_SWAP_QUOTE'");
      const recentBlockhash = await latestBlockhash(node);
      await policy(
        "sponsored",
        `activity.kind == 'EXECUTE_SWAP' && solana.tx.account_keys[0] == '${sponsor}' && solana.tx.instructions.count() == 4 && solana.tx.recent_blockhash == '${recentBlockhash}'`,
      );
      const request = await quoted(user.client, paramsOf(swapper), { recentBlockhash });
      const unsponsored = await user.client.submit("execute_swap", request);
      assert.equal(unsponsored.status, 403, JSON.stringify(unsponsored.body));
      const status = await execute({ ...swapper, client: user.client }, paramsOf(swapper), { recentBlockhash });
      assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
    });

    it("are never signed where they would not be the swap, and cost nobody anything then", async () => {
      const swapper = await newSwapper(SOL);
      const { wallet } = swapper;
      const right = honest(swapper);
      const lies: [Build, RegExp][] = [
        [(of) => [pay(swapper, of.input + 1n), bring(swapper, of.output)], /take more than the amount/],
        [(of) => [pay(swapper, of.input), bring(swapper, of.output - 10_001n)], /bring 989999 .* at least 990000/],
        [(of) => [...right(of), payLamports(swapper, 1n)], /take SOL along/],
        [(of) => [...right(of), throughRouter(assign(wallet, ROUTER))], /account itself/],
        [
          (of) => [pay(swapper, of.input), throughRouter(moveTokens(vaults.output, vaults.input, VAULT, 1n))],
          /would fail/,
        ],
      ];
      const cost = await costing(async () => {
        for (const [build, why] of lies) {
          await offer(swapper, build);
          const { status, originTxHash, error } = await execute(swapper, paramsOf(swapper));
          assert.deepEqual([status, originTxHash], ["FAILED", undefined], JSON.stringify(error));
          assert.match(error.message, why);
        }
      });
      assert.equal(cost, 0n);
      assert.equal(await lamportsOf(node, wallet), SOL);
      assert.equal(tokensIn(node, swapper.own.input), 10n ** 12n);
      assert.equal(await usedMicros(swapper.client), 0n);
    });

    it("are refused as quotes where a provider names the sponsor, in whichever role, whoever is to pay", async () => {
      const swapper = await newSwapper(SOL);
      const [router] = honest(swapper)({ input: 1n, output: 1n }) as [Instruction];
      const naming = (role: AccountRole): Instruction => ({
        ...router,
        accounts: [...(router.accounts ?? []), { address: sponsor, role }],
      });
      const table = putLookupTable(node, [sponsor]);
      const thefts: Build[] = [
        (of) => [...honest(swapper)(of), transfer(sponsor, swapper.wallet, SOL)],
        (of) => [...honest(swapper)(of), throughRouter(transfer(sponsor, swapper.wallet, SOL))],
        ...[0, 1, 2, 3].map(
          (role): Build =>
            (of) => [...honest(swapper)(of), naming(role)],
        ),
        (of) => [...honest(swapper)(of), { programAddress: sponsor, accounts: [], data: new Uint8Array(1) }],
        (of) => ({ instructions: [...honest(swapper)(of), naming(AccountRole.WRITABLE)], tables: [table] }),
      ];
      for (const build of thefts) {
        await offer(swapper, build);
        await refused(
          swapper,
          "create_swap_quote",
          paramsOf(swapper),
          /names the sponsor \w+, which can only be the fee/,
        );
      }
    });

    it("are refused where they cost more than is paid for one, and the quote is not spent", async () => {
      const swapper = await newSwapper(SOL);
      await offer(swapper, (of) => [...budget(1_400_000, 7_138_571n), ...honest(swapper)(of)]);
      const request = await quoted(swapper.client, paramsOf(swapper), { sponsor: true });
      await refused(
        swapper,
        "execute_swap",
        request,
        /nothing was signed: this service does not pay for it: .*fee of 10004000 lamports.* at most 10000000/,
      );
      const { swapRequestId } = await swapper.client.result("execute_swap", { ...request, sponsor: false });
      assert.equal((await swapEnded(swapper.client, swapRequestId)).status, "COMPLETED");
      assert.equal(await lamportsOf(node, swapper.wallet), SOL - 9_999_000n);
    });

    it("are held to the parent's limits, and refused where it has turned sponsoring off", async () => {
      const swapper = await newSwapper();
      const { client } = swapper;
      await offer(swapper, (of) => [...budget(300_000, 1n), ...honest(swapper)(of)]);
      const one = microsOf(10_001n);
      const limit = `0.${String(one + one / 2n).padStart(6, "0")}`;
      const config = { orgWindowLimitUsd: limit, subOrgWindowLimitUsd: "0", windowDurationMinutes: "60" };
      await client.result("upsert_gas_usage_config", config);
      assert.equal((await execute(swapper, paramsOf(swapper))).status, "COMPLETED");
      const request = await quoted(client, paramsOf(swapper), { sponsor: true });
      await refused(swapper, "execute_swap", request, /no more than [\d.]+ US dollars/, 429);
      await client.result("upsert_gas_usage_config", { ...config, orgWindowLimitUsd: "0", enabled: false });
      await refused(swapper, "execute_swap", request, /has turned sponsoring off/);
      await offer(swapper, (of) => [pay(swapper, of.input)]);
      const faulty = await quoted(client, paramsOf(swapper), { sponsor: true });
      await refused(swapper, "execute_swap", faulty, /has turned sponsoring off/);
      assert.equal(tokensIn(node, swapper.own.output), AMOUNT, "nothing of these was sent");
      await client.result("upsert_gas_usage_config", { ...config, orgWindowLimitUsd: "0", enabled: true });
      const { swapRequestId } = await client.result("execute_swap", request);
      assert.equal((await swapEnded(client, swapRequestId)).status, "COMPLETED");
    });

    it("are never sent while the sponsor cannot pay, at nobody's cost", async () => {
      const poor = await startServer({}, 0n);
      try {
        const swapper = await newSwapper(SOL, poor);
        await offer(swapper, honest(swapper));
        const { status, originTxHash, error } = await execute(swapper, paramsOf(swapper));
        assert.deepEqual([status, originTxHash], ["FAILED", undefined], JSON.stringify(error));
        assert.match(error.message, /it would fail: /);
        assert.equal(await usedMicros(swapper.client), 0n);
        await node.call("requestAirdrop", (await sponsorsOf(poor.baseUrl)).solana, Number(SOL));
        assert.equal((await execute(swapper, paramsOf(swapper))).status, "COMPLETED");
        assert.equal(await lamportsOf(node, swapper.wallet), SOL);
      } finally {
        await poor.close();
      }
    });

    it("tell two swaps of the same apart, and refuse to send one transaction for both", async () => {
      const swapper = await newSwapper();
      const { client } = swapper;
      await offer(swapper, (of) => [...budget(300_000, 1n), ...honest(swapper)(of)]);
      const [first, second] = [await execute(swapper, paramsOf(swapper)), await execute(swapper, paramsOf(swapper))];
      assert.notEqual(first.originTxHash, second.originTxHash);
      assert.equal(tokensIn(node, swapper.own.output), 2n * AMOUNT);
      const recentBlockhash = await latestBlockhash(node);
      await execute(swapper, paramsOf(swapper), { recentBlockhash });
      const used = await usedMicros(swapper.client);
      const again = await client.submit(
        "execute_swap",
        await quoted(client, paramsOf(swapper), { sponsor: true, recentBlockhash }),
      );
      assert.match(again.body.message, /has sent the same transaction with the same blockhash/);
      assert.equal(await usedMicros(swapper.client), used);
      assert.equal(tokensIn(node, swapper.own.output), 3n * AMOUNT);
    });

    describe("with `sponsorRent`", () => {
      let paying: TestServer;
      let payer: Address;
      before(async () => {
        paying = await startServer({ sponsorRent: true });
        payer = (await sponsorsOf(paying.baseUrl)).solana as Address;
      });
      after(() => paying.close());
      const rent = () => node.svm.minimumBalanceForRentExemption(165n);

      it("make an account for the token that comes in, which the wallet could not pay for", async () => {
        const swapper = await newSwapper(0n, paying);
        const fresh = newMint(node, STRANGER);
        const from = newTokenAccount(node, { mint: fresh, owner: VAULT, amount: 10n ** 12n });
        const account = await associated(swapper.wallet, fresh);
        await offer(swapper, (of) => [
          makeAssociated(swapper.wallet, swapper.wallet, fresh, account),
          pay(swapper, of.input),
          throughRouter(moveTokens(from, account, VAULT, of.output)),
        ]);
        let status: Json = {};
        const cost = await costing(async () => {
          status = await execute(swapper, paramsOf(swapper, token(input), token(fresh)));
        }, payer);
        assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
        assert.equal(await lamportsOf(node, swapper.wallet), 0n);
        assert.equal(await lamportsOf(node, account), rent());
        assert.equal(cost, BigInt((await shownBy(status.originTxHash)).meta.fee) + rent());
        assert.equal(await usedMicros(swapper.client), microsOf(cost));
      });

      it("make one of Token-2022, whose rent is that of its extensions", async () => {
        for (const [feeBps, amount] of [
          [undefined, AMOUNT],
          [100, AMOUNT - 10_000n],
        ] as const) {
          const swapper = await newSwapper(0n, paying);
          const mint = newMint2022(node, STRANGER, feeBps);
          const from = newTokenAccount2022(node, { mint, owner: VAULT, amount: 10n ** 12n }, feeBps !== undefined);
          const to = await associated(swapper.wallet, mint, TOKEN_2022_PROGRAM);
          await offer(swapper, (of) => [
            makeAssociated(swapper.wallet, swapper.wallet, mint, to, TOKEN_2022_PROGRAM),
            pay(swapper, of.input),
            throughRouter(moveCheckedTokens(TOKEN_2022_PROGRAM, { from, to, mint, owner: VAULT }, of.output)),
          ]);
          let status: Json = {};
          const cost = await costing(async () => {
            status = await execute(swapper, paramsOf(swapper, token(input), token(mint)));
          }, payer);
          assert.equal(status.outputAmount, String(amount), JSON.stringify(status));
          assert.equal(await lamportsOf(node, swapper.wallet), 0n);
          const granted = cost - BigInt((await shownBy(status.originTxHash)).meta.fee);
          assert.equal(granted, await lamportsOf(node, to));
          assert.ok(granted > rent(), "it is larger than one without extensions");
        }
      });

      it("count no rent as what came in", async () => {
        const swapper = await newSwapper(0n, paying);
        const fresh = newMint(node, STRANGER);
        const account = await associated(swapper.wallet, fresh);
        const making = makeAssociated(swapper.wallet, swapper.wallet, fresh, account);
        await offer(swapper, (of) => [making, pay(swapper, of.input), bringLamports(swapper, of.output - 10_001n)]);
        const params = paramsOf(swapper, token(input), NATIVE);
        assert.match((await execute(swapper, params)).error.message, /bring 989999 .* at least 990000/);
        await offer(swapper, (of) => [making, pay(swapper, of.input), bringLamports(swapper, of.output)]);
        const status = await execute(swapper, params);
        assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
        assert.equal(await lamportsOf(node, account), rent());
        assert.equal(await lamportsOf(node, swapper.wallet), AMOUNT);
      });

      it("are granted nothing for an account that somebody else makes before the last approval", async () => {
        const swapper = await newSwapper(0n, paying);
        const { client, wallet } = swapper;
        const user = await addUser(client, "swapper");
        const allow = (policyName: string, condition: string, consensus: string) =>
          client.result("create_policy", { policyName, effect: "EFFECT_ALLOW", consensus, condition, notes: "" });
        await allow("quotes", "activity.kind == 'CREATE_SWAP_QUOTE'", "true");
        await allow("swaps", "activity.kind == 'EXECUTE_SWAP'", "approvers.count() == 2");
        const fresh = newMint(node, STRANGER);
        const from = newTokenAccount(node, { mint: fresh, owner: VAULT, amount: 10n ** 12n });
        const account = await associated(wallet, fresh);
        await offer(swapper, (of) => [
          makeAssociated(wallet, wallet, fresh, account),
          pay(swapper, of.input),
          throughRouter(moveTokens(from, account, VAULT, of.output)),
        ]);
        const params = paramsOf(swapper, token(input), token(fresh));
        const request = await quoted(user.client, params, { sponsor: true });
        const { activity } = (await user.client.submit("execute_swap", request)).body;
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(activity));
        const made = node.svm.getAccount(newTokenAccount(node, { mint: fresh, owner: wallet }));
        assert.ok(made.exists);
        node.svm.setAccount({ ...made, address: account });
        const cost = await costing(async () => {
          await client.submit("approve_activity", { fingerprint: activity.fingerprint });
        }, payer);
        const { activity: failed } = await client.read("get_activity", { activityId: activity.id });
        assert.equal(failed.status, "ACTIVITY_STATUS_FAILED");
        assert.match(JSON.stringify(failed.failure), /creates other accounts than when it was submitted/);
        assert.equal(cost, 0n);
        const status = await execute(swapper, params);
        assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
        assert.equal(await lamportsOf(node, wallet), 0n);
      });

      it("give nobody else what is meant for the wallet's rent", async () => {
        const swapper = await newSwapper(0n, paying);
        const theirs = await associated(STRANGER, output);
        await offer(swapper, (of) => [
          makeAssociated(swapper.wallet, STRANGER, output, theirs),
          ...honest(swapper)(of),
        ]);
        const cost = await costing(async () => {
          assert.match((await execute(swapper, paramsOf(swapper))).error.message, /take SOL along/);
        }, payer);
        assert.equal(cost, 0n);
        assert.equal(await lamportsOf(node, theirs), 0n);
      });
    });
  });
}

/** Units, and millionths of a lamport for each. */
function budget(limit: number, price: bigint): Instruction[] {
  const [limiting, pricing] = [Buffer.alloc(5, 2), Buffer.alloc(9, 3)];
  limiting.writeUInt32LE(limit, 1);
  pricing.writeBigUInt64LE(price, 1);
  return [limiting, pricing].map((data) => ({ programAddress: COMPUTE_BUDGET, data: Uint8Array.from(data) }));
}
