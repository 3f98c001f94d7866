import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AccountRole, type Address, type Instruction } from "@solana/kit";
import { testEarnNode } from "../support/chain.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { relayOfTests, type SolanaInstructions, swapsOfTests } from "../support/relay.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { addressOf, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../support/solana.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { assign, associated, makeAssociated, putLookupTable } from "../support/solana-programs.ts";
import { ROUTER, ROUTER_PROGRAM, throughRouter, VAULT } from "../support/solana-router.ts";
import { lamportsOf, latestBlockhash, newSolanaWallet, newStranger, SOL, transfer } from "../support/solana-sender.ts";
import { offerOnSolana, SWAP_CLUSTER, SWAP_GENESIS, type SwapAmounts } from "../support/solana-swaps.ts";
import {
  approveTokens,
  closeTokenAccount,
  moveCheckedTokens,
  moveTokens,
  newMint,
  newMint2022,
  newMintWithDelegate,
  newMultisig,
  newTokenAccount,
  newTokenAccount2022,
  passTokenAccount,
  tokensIn,
} from "../support/solana-tokens.ts";
import { quoted, swapEnded } from "../support/swap-world.ts";
import { createWorld } from "../support/world.ts";

const NATIVE = `${SWAP_CLUSTER}/slip44:501`;
const WRAPPED = "So11111111111111111111111111111111111111112" as Address;
const AMOUNT = 1_000_000n;
const STRANGER = addressOf(0x77);

for (const engine of oneEngine("postgres")) {
  describe(`swaps on Solana (${engine})`, () => {
    let node: SolanaNode;
    let server: TestServer;
    let client: Client;
    let wallet: Address;
    /** Mints of the tokens that are swapped, and accounts of the wallet and of the router's vault. */
    let input: Address;
    let output: Address;
    let own: { input: Address; output: Address };
    let vaults: { input: Address; output: Address };

    before(async () => {
      node = await startSolanaNode({ genesis: SWAP_GENESIS });
      node.svm.withNativeMints().addProgram(ROUTER, ROUTER_PROGRAM);
      server = await startTestServer(engine, {
        chains: { [SWAP_CLUSTER]: { rpcUrls: [node.url], pollMs: 1000 } },
        swaps: await swapsOfTests({ contracts: { [SWAP_CLUSTER]: [ROUTER] } }),
      });
      client = (await createWorld(server)).root.client;
      [input, output] = [newMint(node, STRANGER), newMint(node, STRANGER)];
      vaults = {
        input: newTokenAccount(node, { mint: input, owner: VAULT }),
        output: newTokenAccount(node, { mint: output, owner: VAULT, amount: 10n ** 15n }),
      };
      await node.call("requestAirdrop", VAULT, Number(1000n * SOL));
      [wallet] = (await newSolanaWallet(client, node)).addresses as [Address];
      own = {
        input: newTokenAccount(node, { mint: input, owner: wallet, amount: 10n ** 12n }),
        output: newTokenAccount(node, { mint: output, owner: wallet }),
      };
    });
    after(async () => {
      await server.close();
      await node.close();
    });

    const token = (mint: Address) => `${SWAP_CLUSTER}/token:${mint}`;
    const paramsOf = (inputToken: string, outputToken: string, more: object = {}) => ({
      signWith: wallet as string,
      inputToken,
      outputToken,
      inputAmount: String(AMOUNT),
      ...more,
    });
    const offer = (build: Parameters<typeof offerOnSolana>[1]) => offerOnSolana(wallet, build);
    const payTokens = (amount: bigint) => throughRouter(moveTokens(own.input, vaults.input, wallet, amount));
    const bringTokens = (amount: bigint) => throughRouter(moveTokens(vaults.output, own.output, VAULT, amount));
    const payLamports = (amount: bigint) => throughRouter(transfer(wallet, VAULT, amount));
    const bringLamports = (amount: bigint) => throughRouter(transfer(VAULT, wallet, amount));
    const execute = async (params: ReturnType<typeof paramsOf>, more: object = {}): Promise<Json> => {
      const { swapRequestId } = await client.result("execute_swap", await quoted(client, params, more));
      return swapEnded(client, swapRequestId);
    };
    const holdings = async () => ({
      lamports: await lamportsOf(node, wallet),
      input: tokensIn(node, own.input),
      output: tokensIn(node, own.output),
    });
    const gains = async (act: () => Promise<Json>): Promise<Json> => {
      const was = await holdings();
      const status = await act();
      const is = await holdings();
      const moved = {
        lamports: is.lamports - was.lamports,
        input: is.input - was.input,
        output: is.output - was.output,
      };
      return { status, ...moved };
    };

    it("exchange SOL for tokens, with the caller's blockhash", async () => {
      await offer((amounts) => [payLamports(amounts.input), bringTokens(amounts.output)]);
      const recentBlockhash = await latestBlockhash(node);
      const moved = await gains(() => execute(paramsOf(NATIVE, token(output)), { recentBlockhash }));
      const { originTxHash, updatedAt, ...status } = moved.status;
      assert.match(updatedAt, /^[0-9]{13}$/);
      assert.deepEqual(status, {
        status: "COMPLETED",
        swapKind: "SAME_CHAIN",
        provider: "relay",
        inputToken: NATIVE,
        outputToken: token(output),
        inputAmount: String(AMOUNT),
        outputAmount: String(AMOUNT),
      });
      assert.deepEqual([moved.lamports, moved.input, moved.output], [-AMOUNT - 5000n, 0n, AMOUNT]);
      const shown = (await node.call("getTransaction", originTxHash, { commitment: "confirmed" })) as Json;
      assert.equal(shown.transaction.message.recentBlockhash, recentBlockhash);
    });

    it("exchange tokens for tokens and for SOL", async () => {
      await offer((amounts) => [payTokens(amounts.input), bringTokens(amounts.output)]);
      const moved = await gains(() => execute(paramsOf(token(input), token(output))));
      assert.equal(moved.status.outputAmount, String(AMOUNT), JSON.stringify(moved.status));
      assert.deepEqual([moved.lamports, moved.input, moved.output], [-5000n, -AMOUNT, AMOUNT]);
      // More than was quoted is what is told, and the least is enough.
      await offer((amounts) => [payTokens(amounts.input - 1n), bringLamports(amounts.output - 5000n)]);
      const paid = await gains(() => execute(paramsOf(token(input), NATIVE)));
      assert.equal(paid.status.outputAmount, String(AMOUNT - 5000n), JSON.stringify(paid.status));
      assert.deepEqual([paid.lamports, paid.input, paid.output], [AMOUNT - 10_000n, 1n - AMOUNT, 0n]);
    });

    it("make an account for the token that comes in, and wrap SOL for a moment", async () => {
      const fresh = newMint(node, STRANGER);
      const from = newTokenAccount(node, { mint: fresh, owner: VAULT, amount: 10n ** 12n });
      const account = await associated(wallet, fresh);
      const wrapped = await associated(wallet, WRAPPED);
      await offer(({ input: taken, output: brought }) => [
        makeAssociated(wallet, wallet, fresh, account),
        makeAssociated(wallet, wallet, WRAPPED, wrapped),
        transfer(wallet, wrapped, taken),
        { programAddress: TOKEN_PROGRAM, accounts: [writable(wrapped)], data: Uint8Array.of(17) },
        closeTokenAccount(wrapped, wallet, wallet),
        payLamports(taken),
        throughRouter(moveTokens(from, account, VAULT, brought)),
      ]);
      const moved = await gains(() => execute(paramsOf(NATIVE, token(fresh))));
      assert.equal(moved.status.outputAmount, String(AMOUNT), JSON.stringify(moved.status));
      assert.equal(tokensIn(node, account), AMOUNT);
      const rent = node.svm.minimumBalanceForRentExemption(165n);
      assert.equal(moved.lamports, -AMOUNT - rent - 5000n);
      // What is left wrapped is not what was asked for.
      await offer(({ input: taken, output: brought }) => [
        makeAssociated(wallet, wallet, WRAPPED, wrapped),
        transfer(wallet, wrapped, 1n),
        { programAddress: TOKEN_PROGRAM, accounts: [writable(wrapped)], data: Uint8Array.of(17) },
        payLamports(taken),
        throughRouter(moveTokens(from, account, VAULT, brought)),
      ]);
      assert.match((await execute(paramsOf(NATIVE, token(fresh)))).error.message, /wrapped SOL/);
    });

    it("exchange tokens of Token-2022, in both directions", async () => {
      const mint = newMint2022(node, STRANGER);
      const mine = newTokenAccount2022(node, { mint, owner: wallet });
      const theirs = newTokenAccount2022(node, { mint, owner: VAULT, amount: 10n ** 12n });
      const move = (from: Address, to: Address, owner: Address, amount: bigint) =>
        throughRouter(moveCheckedTokens(TOKEN_2022_PROGRAM, { from, to, mint, owner }, amount));
      await offer((of) => [payTokens(of.input), move(theirs, mine, VAULT, of.output)]);
      const bought = await execute(paramsOf(token(input), token(mint)));
      assert.equal(bought.outputAmount, String(AMOUNT), JSON.stringify(bought));
      assert.equal(tokensIn(node, mine), AMOUNT);
      await offer((of) => [move(mine, theirs, wallet, of.input), bringTokens(of.output)]);
      const moved = await gains(() => execute(paramsOf(token(mint), token(output))));
      assert.equal(moved.status.outputAmount, String(AMOUNT), JSON.stringify(moved.status));
      assert.deepEqual([moved.lamports, moved.output, tokensIn(node, mine)], [-5000n, AMOUNT, 0n]);
      // What the wallet has of it is watched as that of any token.
      await offer((of) => [payTokens(of.input), move(theirs, mine, VAULT, of.output)]);
      await execute(paramsOf(token(input), token(mint)));
      const approval = { ...approveTokens(mine, STRANGER, wallet, 1n), programAddress: TOKEN_2022_PROGRAM };
      await offer((of) => [payTokens(of.input), bringTokens(of.output), throughRouter(approval)]);
      assert.match((await execute(paramsOf(token(input), token(output)))).error.message, /would allow \w+ to spend/);
      await offer((of) => [payTokens(of.input), bringTokens(of.output), move(mine, theirs, wallet, 1n)]);
      assert.match((await execute(paramsOf(token(input), token(output)))).error.message, /also spend \w+/);
    });

    it("count of a token with transfer fees what comes in, and refuse what is less than was agreed on", async () => {
      // The offers' least is 99 %.
      for (const [feeBps, amount] of [
        [100, AMOUNT - 10_000n],
        [101, undefined],
      ] as const) {
        const mint = newMint2022(node, STRANGER, feeBps);
        const mine = newTokenAccount2022(node, { mint, owner: wallet }, true);
        const theirs = newTokenAccount2022(node, { mint, owner: VAULT, amount: 10n ** 12n }, true);
        await offer((of) => [
          payTokens(of.input),
          throughRouter(
            moveCheckedTokens(TOKEN_2022_PROGRAM, { from: theirs, to: mine, mint, owner: VAULT }, of.output),
          ),
        ]);
        const { status, input: paid } = await gains(() => execute(paramsOf(token(input), token(mint))));
        assert.equal(status.outputAmount, amount === undefined ? undefined : String(amount), JSON.stringify(status));
        assert.equal(tokensIn(node, mine), amount ?? 0n);
        if (amount !== undefined) continue;
        assert.equal(status.status, "FAILED");
        assert.match(status.error.message, /bring 989900 .* at least 990000/);
        assert.deepEqual([status.originTxHash, paid], [undefined, 0n], "it is never sent");
      }
    });

    it("go through lookup tables, which the node is asked for", async () => {
      const table = putLookupTable(node, [vaults.input, vaults.output, VAULT]);
      await offer((amounts) => ({
        instructions: [payTokens(amounts.input), bringTokens(amounts.output)],
        tables: [table],
      }));
      const moved = await gains(() => execute(paramsOf(token(input), token(output))));
      assert.equal(moved.status.outputAmount, String(AMOUNT), JSON.stringify(moved.status));
      const { originTxHash } = moved.status;
      const shown = (await node.call("getTransaction", originTxHash, { commitment: "confirmed" })) as Json;
      assert.deepEqual(shown.meta.loadedAddresses.writable.toSorted(), [vaults.input, vaults.output].toSorted());
    });

    it("show policies the transaction, and stand in the history of sends", async () => {
      const world = await createWorld(server);
      const { addresses } = await newSolanaWallet(world.root.client, node);
      const [signWith] = addresses as [Address];
      const user = await addUser(world.root.client, "swapper");
      const policy = (policyName: string, condition: string) =>
        world.root.client.result("create_policy", {
          policyName,
          effect: "EFFECT_ALLOW",
          consensus: `approvers.any(user, user.id == '${user.userId}')`,
          condition,
          notes: "",
        });
      await policy("quotes", "activity.kind == 'CREATE_SWAP_QUOTE'");
      const { client: swapper } = user;
      const account = newTokenAccount(node, { mint: output, owner: signWith });
      (await relayOfTests()).offer(signWith, (_, { input: taken, output: brought }) => ({
        instructions: [
          throughRouter(transfer(signWith, VAULT, taken)),
          throughRouter(moveTokens(vaults.output, account, VAULT, brought)),
        ],
      }));
      const request = await quoted(swapper, { ...paramsOf(NATIVE, token(output)), signWith });
      const denied = await swapper.submit("execute_swap", request);
      assert.equal(denied.status, 403, JSON.stringify(denied.body));
      await policy(
        "the router",
        `activity.kind == 'EXECUTE_SWAP' && solana.tx.program_keys.all(p, p == '${ROUTER}') && wallet_account.address == '${signWith}'`,
      );
      const { swapRequestId } = await swapper.result("execute_swap", request);
      const status = await swapEnded(swapper, swapRequestId);
      assert.equal(status.outputAmount, String(AMOUNT), JSON.stringify(status));
      assert.equal(tokensIn(node, account), AMOUNT);
      const again = await swapper.submit("execute_swap", { ...request, recentBlockhash: await latestBlockhash(node) });
      assert.equal(again.body.turnkeyErrorCode, "SWAP_QUOTE_ALREADY_USED");
    });

    it("are never signed where they would not be the swap: a trial finds it, and nothing is sent", async () => {
      const honest = (amounts: SwapAmounts) => [payTokens(amounts.input), bringTokens(amounts.output)];
      const another = newMint(node, STRANGER);
      const held = newTokenAccount(node, { mint: another, owner: wallet, amount: 100n });
      const theirs = newTokenAccount(node, { mint: another, owner: STRANGER });
      const friend = addressOf(0x78);
      const lent = newTokenAccount(node, { mint: another, owner: friend, amount: 100n, delegate: wallet });
      const empty = newTokenAccount(node, { mint: another, owner: friend, closeAuthority: wallet });
      const shared = newMultisig(node, [wallet, friend]);
      const ofAll = newTokenAccount(node, { mint: another, owner: shared, amount: 100n });
      const bySharing = moveTokens(ofAll, theirs, shared, 1n);
      const fromAll: Instruction = {
        ...bySharing,
        accounts: [
          ...(bySharing.accounts ?? []).map(({ address }) =>
            address === shared ? { address, role: AccountRole.READONLY } : { address, role: AccountRole.WRITABLE },
          ),
          { address: wallet, role: AccountRole.READONLY_SIGNER },
        ],
      };
      const ruled = newMintWithDelegate(node, STRANGER, wallet);
      const [from, to] = [friend, STRANGER].map((owner) =>
        newTokenAccount2022(node, { mint: ruled, owner, amount: 100n }),
      ) as [Address, Address];
      const fromHolder = moveCheckedTokens(TOKEN_2022_PROGRAM, { from, to, mint: ruled, owner: wallet }, 1n);
      const lies: [(amounts: SwapAmounts) => Instruction[], RegExp][] = [
        [(of) => [payTokens(of.input + 1n), bringTokens(of.output)], /take more than the amount/],
        [(of) => [payTokens(of.input), bringTokens(of.output - 10_001n)], /bring 989999 .* at least 990000/],
        [(of) => [payTokens(of.input)], /bring 0 /],
        [(of) => [...honest(of), payLamports(1n)], /take SOL along/],
        [(of) => [...honest(of), transfer(wallet, STRANGER, SOL)], /take SOL along/],
        [(of) => [...honest(of), throughRouter(moveTokens(held, theirs, wallet, 1n))], /also spend \w+/],
        [(of) => [...honest(of), moveTokens(held, theirs, wallet, 1n)], /also spend \w+/],
        [(of) => [...honest(of), throughRouter(approveTokens(held, STRANGER, wallet, 1n))], /would allow \w+ to spend/],
        [(of) => [...honest(of), throughRouter(passTokenAccount(held, wallet, STRANGER, 2))], /token account \w+ away/],
        [(of) => [...honest(of), throughRouter(passTokenAccount(own.input, wallet, STRANGER, 3))], /to close/],
        [(of) => [...honest(of), throughRouter(assign(wallet, ROUTER))], /account itself/],
        [(of) => [...honest(of), moveTokens(lent, theirs, wallet, 100n)], /change \w+, which refers to the wallet/],
        [(of) => [...honest(of), throughRouter(moveTokens(lent, theirs, wallet, 1n))], /which refers to the wallet/],
        [(of) => [...honest(of), fromAll], /spend from \w+, which is not the wallet's/],
        [(of) => [...honest(of), fromHolder], /spend from \w+, which is not the wallet's/],
        [(of) => [...honest(of), closeTokenAccount(empty, STRANGER, wallet)], /which refers to the wallet/],
        [
          (of) => [payTokens(of.input), throughRouter(moveTokens(vaults.output, vaults.input, VAULT, 1n))],
          /would fail/,
        ],
      ];
      const was = await holdings();
      for (const [build, why] of lies) {
        await offer(build);
        const status = await execute(paramsOf(token(input), token(output)));
        const { status: failed, originTxHash, error } = status;
        assert.deepEqual([failed, originTxHash], ["FAILED", undefined], JSON.stringify(status));
        assert.equal(error.reason, "ORIGIN_TRANSACTION_FAILED");
        assert.match(error.message, why);
        assert.equal(error.originTxError.message, error.message);
      }
      const fromSol = [
        [(of: SwapAmounts) => [payLamports(of.input + 1n), bringTokens(of.output)], /take more/],
      ] as const;
      for (const [build, why] of fromSol) {
        await offer((of) => [...build(of)]);
        assert.match((await execute(paramsOf(NATIVE, token(output)))).error.message, why);
      }
      assert.deepEqual(await holdings(), was);
    });

    it("are refused as quotes where they have another form", async () => {
      const honest = (amounts: SwapAmounts) => [payTokens(amounts.input), bringTokens(amounts.output)];
      const { address: another } = newStranger();
      const signing = { address: another, role: AccountRole.READONLY_SIGNER };
      const foreign = { programAddress: STRANGER, accounts: [], data: new Uint8Array(1) };
      const price = Uint8Array.from([3, 255, 255, 255, 255, 0, 0, 0, 0]);
      const limit = Uint8Array.from([2, 0xc0, 0x5c, 0x15, 0]);
      const BUDGET = "ComputeBudget111111111111111111111111111111" as Address;
      const wide = (_: unknown, index: number) => ({ address: addressOf(index + 100), role: AccountRole.WRITABLE });
      const router = throughRouter(transfer(wallet, VAULT, 1n));
      const forms: [(amounts: SwapAmounts) => Instruction[] | SolanaInstructions, RegExp][] = [
        [(of) => [...honest(of), foreign], /not among the programs on Solana/],
        [(of) => [...honest(of), { ...router, accounts: [...(router.accounts ?? []), signing] }], /a signature other/],
        [(of) => [...honest(of), approveTokens(own.input, STRANGER, wallet, 1n)], /no swap needs/],
        [(of) => [...honest(of), passTokenAccount(own.input, wallet, STRANGER, 2)], /no swap needs/],
        [(of) => [...honest(of), assign(wallet, ROUTER)], /no swap needs/],
        [() => [transfer(wallet, STRANGER, AMOUNT)], /no instruction of a program that the operator/],
        [() => [], /no instructions/],
        [(of) => [...honest(of), { ...router, data: new Uint8Array(1300) }], /no data, or too much/],
        [
          (of) => [...honest(of), { ...router, data: new Uint8Array(1100) }],
          /not a transaction that a block could include/,
        ],
        [
          (of) => [...honest(of), { ...router, accounts: Array.from({ length: 40 }, wide) }],
          /not a transaction|writes to more/,
        ],
        [
          (of) => [
            ...honest(of),
            { programAddress: BUDGET, accounts: [], data: price },
            { programAddress: BUDGET, accounts: [], data: limit },
          ],
          /lamports of fees/,
        ],
        [(of) => ({ instructions: honest(of), tables: [addressOf(0x99)] }), /not a lookup table/],
        [(of) => ({ instructions: honest(of), tables: [own.input] }), /not a lookup table/],
        [(of) => ({ instructions: honest(of), tables: ["x"] }), /by no address/],
        [(of) => ({ instructions: honest(of), tables: Array(2).fill(addressOf(0x99)) }), /twice/],
        [(of) => Array.from({ length: 65 }, () => honest(of)[0] as Instruction), /more than 64 instructions/],
      ];
      for (const [build, why] of forms) {
        await offer(build);
        const { status, body } = await client.submit("create_swap_quote", paramsOf(token(input), token(output)));
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(body.message, why);
      }
    });

    it("are refused with members of the other kind of chain, and with other tokens", async () => {
      await offer((amounts) => [payTokens(amounts.input), bringTokens(amounts.output)]);
      const refused = async (path: string, params: object, why: RegExp) => {
        const { status, body } = await client.submit(path, params);
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(body.message, why);
      };
      const request = await quoted(client, paramsOf(token(input), token(output)));
      await refused("execute_swap", { ...request, evmNonce: "1" }, /evmNonce/);
      await refused("execute_swap", { ...request, gasStationNonce: "1" }, /gasStationNonce/);
      await refused("execute_swap", { ...request, recentBlockhash: "abc" }, /recentBlockhash/);
      await refused("execute_swap", { ...request, inputToken: token(output) }, /inputToken/);
      const quote = (more: object) =>
        ["create_swap_quote", { ...paramsOf(token(input), token(output)), ...more }] as const;
      await refused(...quote({ outputToken: "eip155:8453/slip44:60" }), /swaps between Solana and Ethereum/);
      await refused(
        ...quote({ outputToken: token("So11111111111111111111111111111111111111112" as Address) }),
        /wrapped SOL/,
      );
      await refused(...quote({ outputToken: `${SWAP_CLUSTER}/slip44:60` }), /not the native asset/);
      await refused(...quote({ inputAmount: String(2n ** 64n) }), /64 bits/);
      const { addresses } = await newEvmWallet(client, testEarnNode());
      await refused(...quote({ signWith: addresses[0] }), /not an address on Solana/);
    });

    const writable = (address: Address) => ({ address, role: AccountRole.WRITABLE });
  });
}
