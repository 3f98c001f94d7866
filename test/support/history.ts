import { newId } from "../../src/kernel/ids.ts";
import type { EvmNode } from "./anvil.ts";
import type { Client, Json } from "./client.ts";
import { newSender } from "./sender.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

/** What tests of histories and balances do again and again. */

/** The address of a new wallet's Ethereum account. */
export async function newWalletAddress(client: Client): Promise<string> {
  const account = { curve: "CURVE_SECP256K1", pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/60'/0'/0/0" };
  const accounts = [{ ...account, addressFormat: "ADDRESS_FORMAT_ETHEREUM" }];
  const { addresses } = await client.result("create_wallet", { walletName: `Wallet ${newId()}`, accounts });
  return addresses[0];
}

export type HistoryQuery = "list_eth_transaction_history" | "list_sol_transaction_history";

export interface Page {
  transactions: Json[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor?: string; endCursor?: string };
}

/** The histories of one chain, as the query for its family lists them. */
export const historiesOn = (caip2: string, query: HistoryQuery = "list_eth_transaction_history") => {
  const page = async (client: Client, address: string, paginationOptions: object = { limit: "100" }): Promise<Page> =>
    client.read(query, { address, caip2, paginationOptions });
  /** The newest page once it has so many transactions, or as many as `isWanted` says. */
  const once = async (
    client: Client,
    address: string,
    isWanted: (transactions: Json[]) => boolean,
    what = "the history to be as wanted",
  ): Promise<Json[]> => {
    let transactions: Json[] = [];
    await until(async () => {
      ({ transactions } = await page(client, address));
      return isWanted(transactions);
    }, what);
    return transactions;
  };
  return { page, once };
};

/** A sender with a nonce of its own count. */
export async function countingSender(node: EvmNode, chainId: number) {
  const sender = await newSender(node, chainId);
  let nonce = 0;
  const sign = (more: object = {}) => sender.sign({ nonce: nonce++, gas: 500_000n, ...more });
  return {
    ...sender,
    sign,
    /** Sends a transaction and resolves to its hash once it is in a block. */
    send: async (more: object = {}): Promise<string> => {
      const { signedTransaction, hash } = await sign(more);
      await node.call("eth_sendRawTransaction", signedTransaction);
      await node.receipt(hash);
      return hash;
    },
  };
}

/** Resolves when the server's watcher has begun: what comes from now on is seen. */
export const watching = ({ opened }: TestServer): Promise<void> =>
  until(async () => {
    const { read } = opened.database;
    return (await read.selectFrom("followed_chains").select("caip2").execute()).length > 0;
  }, "the watcher to begin");
