import { randomBytes } from "node:crypto";
import { parseTransaction } from "viem";
import type { EvmNode } from "./anvil.ts";
import type { Client, Json } from "./client.ts";
import { sendStatus } from "./solana-sender.ts";
import { until } from "./until.ts";

export { sendStatus };

export const ETHER = 10n ** 18n;

/** An address that nobody else pays to; lowercase. */
export const newAddress = (): string => `0x${randomBytes(20).toString("hex")}`;

/** A wallet of the client's organization with so many Ethereum accounts, each with 1000 ether. */
export async function newEvmWallet(
  client: Client,
  node: EvmNode,
  count = 1,
): Promise<{ walletId: string; addresses: string[] }> {
  const wallet = await client.result("create_wallet", {
    walletName: `Ethereum ${randomBytes(8).toString("hex")}`,
    accounts: Array.from({ length: count }, (_, index) => ({
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: `m/44'/60'/0'/0/${index}`,
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    })),
  });
  for (const address of wallet.addresses) await giveEther(node, address);
  return wallet;
}

export const giveEther = ({ call }: EvmNode, address: string, amount = 1000n * ETHER): Promise<unknown> =>
  call("anvil_setBalance", address, `0x${amount.toString(16)}`);

/** Somebody else's transfer of 1 wei from the account, for which they need its key; the node does not. */
export async function strangersTransfer({ call }: EvmNode, from: string): Promise<string> {
  await call("anvil_impersonateAccount", from);
  const transfer = { from, to: newAddress(), value: "0x1" };
  return whereFree(async () => (await call("eth_sendTransaction", transfer)) as string);
}

/** The same, resolved once a block has it. Only from then on is another with its nonce refused; before, one that pays more replaces it. */
export async function strangersMinedTransfer(node: EvmNode, from: string): Promise<string> {
  const hash = await strangersTransfer(node, from);
  await until(async () => (await transactionOf(node, hash)).blockNumber !== null, "a block to have the stranger's");
  return hash;
}

/** Sends from an account that others send from at the same time: where one has taken the nonce meanwhile, the next is taken. */
export async function whereFree<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!/replacement transaction underpriced|nonce too low/i.test(String(error))) throw error;
    }
  }
}

/** Makes a block with a base fee of so many wei, with which those after it begin. */
export async function setBaseFee({ call }: EvmNode, wei: bigint): Promise<void> {
  await call("anvil_setNextBlockBaseFeePerGas", `0x${wei.toString(16)}`);
  await call("anvil_mine", "0x1");
}

/** Raises the base fee beyond what was signed, as far as a replacement may still go. */
export async function outgrowFees(node: EvmNode, signed: unknown): Promise<void> {
  const { maxFeePerGas = 0n } = parseTransaction(signed as `0x02${string}`);
  await setBaseFee(node, maxFeePerGas + maxFeePerGas / 2n);
}

/** A contract that reverts with whatever it is called with. */
export async function revertingContract({ call }: EvmNode): Promise<string> {
  const address = newAddress();
  // calldatacopy(0, 0, calldatasize()); revert(0, calldatasize())
  await call("anvil_setCode", address, "0x366000600037366000fd");
  return address;
}

export interface MinedTransaction {
  hash: string;
  nonce: string;
  from: string;
  to: string;
  value: string;
  gas: string;
  maxFeePerGas: string;
  maxPriorityFeePerGas: string;
  blockNumber: string | null;
}

export const transactionOf = async ({ call }: EvmNode, hash: string): Promise<MinedTransaction> =>
  (await call("eth_getTransactionByHash", hash)) as MinedTransaction;

/** Those that the node still knows: while no block has a transaction, one of the same nonce that pays more takes its place. */
export async function notReplaced(node: EvmNode, hashes: string[]): Promise<MinedTransaction[]> {
  const known = await Promise.all(hashes.map((hash) => transactionOf(node, hash)));
  return known.filter((transaction) => transaction !== null);
}

/**
 * The hash of a transaction that is in a block.
 *
 * @param growing a node that makes blocks meanwhile, as chains do: where a node's answer to the transaction was lost, a stranger has
 * its nonce for good only some blocks later
 */
export async function includedHash(client: Client, id: string, growing?: EvmNode): Promise<string> {
  const status: Json = await (growing ? whileItGrows(growing, sendStatus(client, id)) : sendStatus(client, id));
  if (status.txStatus !== "INCLUDED" || status.error) throw new Error(JSON.stringify(status));
  return status.eth.txHash;
}

const BLOCK_EVERY_MS = 300;

async function whileItGrows<T>({ call }: EvmNode, work: Promise<T>): Promise<T> {
  let isDone = false;
  const grow = async () => {
    while (!isDone) {
      await Promise.race([work, new Promise((resolve) => setTimeout(resolve, BLOCK_EVERY_MS).unref())]);
      if (!isDone) await call("anvil_mine", "0x1");
    }
  };
  const ended = work.finally(() => {
    isDone = true;
  });
  const [result] = await Promise.all([ended, grow()]);
  return result;
}
