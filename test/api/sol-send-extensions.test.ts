import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Address, Instruction } from "@solana/kit";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { historiesOn, watching } from "../support/history.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { compiled, TOKEN_2022_PROGRAM } from "../support/solana.ts";
import { newSolanaAddress } from "../support/solana-history.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import { NO_BLOCKHASH, newSolanaWallet, newStranger, sendStatus } from "../support/solana-sender.ts";
import {
  extensionsOf,
  moveCheckedTokens,
  newExtendedAccount,
  newExtendedMint,
  newMint2022,
  newTokenAccount2022,
  tokensIn,
} from "../support/solana-tokens.ts";

/** Tokens whose mints have a say in their transfers: what policies are shown is what becomes of the balances, or nothing does. */

const PATH = "sol_send_transaction";
const AMOUNT = 1000n;
const { once } = historiesOn(TEST_CLUSTER, "list_sol_transaction_history");

for (const engine of oneEngine("sqlite")) {
  describe(`${PATH} of extended tokens (${engine})`, () => {
    let node: SolanaNode;
    let server: TestServer;
    let root: Client;
    let member: Client;
    const authority = newStranger().address;
    const hook = newStranger().address;
    const extensions = extensionsOf(authority, hook);

    before(async () => {
      node = await startSolanaNode();
      server = await startTestServer(engine, { chains: { [TEST_CLUSTER]: { rpcUrls: [node.url], pollMs: 100 } } });
      ({ root } = server);
      const { userId, client } = await addUser(root);
      member = client;
      await root.result("create_policy", {
        policyName: newId(),
        effect: "EFFECT_ALLOW",
        consensus: `approvers.any(user, user.id == '${userId}')`,
        condition: `solana.tx.instructions.count() == solana.tx.spl_transfers.count() && solana.tx.spl_transfers.all(t, t.amount <= ${AMOUNT})`,
        notes: "",
      });
      await watching(server);
    });
    after(async () => {
      await server.close();
      await node.close();
    });

    interface Accounts {
      mint: Address;
      owner: Address;
      from: Address;
      to: Address;
      receiver: Address;
    }

    async function accountsOf(newAccount: (holding: { owner: Address; amount: bigint }) => Address, mint: Address) {
      const [owner] = (await newSolanaWallet(root, node)).addresses as [Address];
      const receiver = await newSolanaAddress(root);
      const from = newAccount({ owner, amount: 5n * AMOUNT });
      return { mint, owner, receiver, from, to: newAccount({ owner: receiver, amount: 0n }) };
    }
    const extendedBy = (extension: (typeof extensions)[keyof typeof extensions]) => {
      const mint = newExtendedMint(node, authority, extension);
      return accountsOf((holding) => newExtendedAccount(node, { mint, ...holding }, extension), mint);
    };

    /** By a member whom policies allow transfers of so many alone. */
    const ask = ({ owner, ...accounts }: Accounts, amount: bigint) => {
      const instructions: Instruction[] = [moveCheckedTokens(TOKEN_2022_PROGRAM, { ...accounts, owner }, amount)];
      const wire = compiled({ version: "legacy", payer: owner, blockhash: NO_BLOCKHASH, instructions });
      const parameters = { unsignedTransaction: wire.toString("hex"), signWiths: [owner], caip2: TEST_CLUSTER };
      return member.submit(PATH, parameters);
    };
    async function outcomeOf(accounts: Accounts): Promise<Json> {
      const { status: refused } = await ask(accounts, AMOUNT + 1n);
      assert.equal(refused, 403, "one more than policies allow");
      const { status, body } = await ask(accounts, AMOUNT);
      assert.equal(status, 200, JSON.stringify(body));
      return sendStatus(root, body.activity.result.solSendTransactionResultV2.sendTransactionStatusId);
    }
    const ofTokens = ({ transfers }: Json): Json[] => transfers.filter(({ asset }: Json) => asset === undefined);
    /** What came in and went out of a token, by a wallet's history. */
    async function toldOf(wallet: Address): Promise<[string, string][]> {
      const found = await once(root, wallet, (items: Json[]) => items.some((item) => ofTokens(item).length > 0));
      const told = found.flatMap(ofTokens);
      return told.map(({ direction, amount, counterparty }) => [`${direction} ${counterparty}`, amount]);
    }

    for (const name of ["confidential", "bearing interest"] as const) {
      it(`moves what it says of a token ${name}`, async () => {
        const accounts = await extendedBy(extensions[name]);
        const status = await outcomeOf(accounts);
        assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
        assert.deepEqual([tokensIn(node, accounts.from), tokensIn(node, accounts.to)], [4n * AMOUNT, AMOUNT]);
        assert.deepEqual(await toldOf(accounts.receiver), [[`IN ${accounts.owner}`, String(AMOUNT)]]);
      });
    }

    it("moves what it says where a fee is withheld of it, which is told as going to the mint", async () => {
      const mint = newMint2022(node, authority, 100);
      const accounts = await accountsOf((holding) => newTokenAccount2022(node, { mint, ...holding }, true), mint);
      const status = await outcomeOf(accounts);
      assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
      const fee = AMOUNT / 100n;
      assert.deepEqual([tokensIn(node, accounts.from), tokensIn(node, accounts.to)], [4n * AMOUNT, AMOUNT - fee]);
      assert.deepEqual(await toldOf(accounts.owner), [[`OUT ${accounts.receiver}`, String(AMOUNT)]]);
      assert.deepEqual(await toldOf(accounts.receiver), [
        [`IN ${accounts.owner}`, String(AMOUNT)],
        [`OUT ${mint}`, String(fee)],
      ]);
    });

    for (const name of ["not transferable", "asking a hook"] as const) {
      it(`sends nothing of a token ${name} that does not let it go`, async () => {
        const accounts = await extendedBy(extensions[name]);
        const status = await outcomeOf(accounts);
        assert.equal(status.txStatus, "FAILED", JSON.stringify(status));
        assert.ok(status.error.solana.logs.length > 0, "its logs say why");
        assert.deepEqual([tokensIn(node, accounts.from), tokensIn(node, accounts.to)], [5n * AMOUNT, 0n]);
      });
    }
  });
}
