import { readFileSync } from "node:fs";
import {
  type Abi,
  type Address,
  BaseError,
  type Client,
  ContractFunctionRevertedError,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  type PublicActions,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  type WalletActions,
  walletActions,
} from "viem";
import type { EvmNode } from "./anvil.ts";
import { ETHER, giveEther, newAddress, whereFree } from "./evm-sender.ts";
import { until } from "./until.ts";

/** Contracts of `contracts/` on a node of tests, called by name; their callers are accounts that the node impersonates. */

export interface Contract {
  address: Address;
  abi: Abi;
  read<T = bigint>(name: string, ...args: unknown[]): Promise<T>;
  /** Sends a transaction and waits for its block. @throws where it reverts: the name of the error, or its text */
  write(from: Address, name: string, ...args: unknown[]): Promise<void>;
  data(name: string, ...args: unknown[]): Hex;
}

interface Artifact {
  abi: Abi;
  creationCode: Hex;
}

const OURS = ["FeeWrapper", "PaymentSplitter", "RevenueSplitterOwner"];

/** What a contract of that name was compiled to. */
function artifactOf(name: string): Artifact {
  const folder = OURS.some((end) => name.endsWith(end)) ? "../../src/chains/evm/artifacts" : "artifacts";
  return JSON.parse(readFileSync(new URL(`${folder}/${name}.json`, import.meta.url), "utf8")) as Artifact;
}

type TestClient = Client & PublicActions & WalletActions;

const clientOf = ({ url }: EvmNode): TestClient =>
  createTestClient({ mode: "anvil", transport: http(url), pollingInterval: 10 })
    .extend(publicActions)
    .extend(walletActions) as unknown as TestClient;

/**
 * Asked for until it is there. viem's own way looks again at each new block, and not at one that came while it was looking: on a node that
 * makes a block of each transaction there may be no other.
 */
export async function receiptOf(client: PublicActions, hash: Hex): Promise<TransactionReceipt> {
  let receipt: TransactionReceipt | undefined;
  await until(async () => {
    receipt = await client.getTransactionReceipt({ hash }).catch((error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return undefined;
      throw error;
    });
    return receipt !== undefined;
  }, `the receipt of ${hash}`);
  return receipt as TransactionReceipt;
}

/** An account with ether that the node signs for. */
export async function newCaller(node: EvmNode): Promise<Address> {
  const address = newAddress() as Address;
  await giveEther(node, address, 10n ** 6n * ETHER);
  await node.call("anvil_impersonateAccount", address);
  return address;
}

/**
 * Gives somebody of a `TestToken`, by a sender of its own: of two processes that send from one account at once, one may find its transaction
 * replaced, or behind a gap.
 */
export async function mintTestToken(node: EvmNode, token: string, to: string, amount: bigint): Promise<void> {
  await contractAt(node, "TestToken", token).write(await newCaller(node), "mint", to, amount);
}

export async function deployContract(
  node: EvmNode,
  from: Address,
  name: string,
  ...args: readonly unknown[]
): Promise<Contract> {
  const { abi, creationCode } = artifactOf(name);
  const client = clientOf(node);
  const deploy = { abi, bytecode: creationCode, args, account: from, chain: null } as const;
  const hash = await whereFree(() => client.deployContract(deploy));
  const { contractAddress, status } = await receiptOf(client, hash);
  if (!contractAddress || status !== "success") throw new Error(`${name} was not deployed`);
  return contractAt(node, name, contractAddress);
}

export function contractAt(node: EvmNode, name: string, address: string): Contract {
  const { abi } = artifactOf(name);
  const client = clientOf(node);
  const at = { address: address as Address, abi };
  return {
    ...at,
    read: async <T>(functionName: string, ...args: unknown[]) =>
      (await client.readContract({ ...at, functionName, args })) as T,
    async write(account, functionName, ...args) {
      const call = { ...at, functionName, args, account, chain: null } as const;
      try {
        await client.simulateContract(call as never);
      } catch (error) {
        throw new Error(reasonOf(error), { cause: error });
      }
      const hash = await whereFree(() => client.writeContract(call as never));
      const { status } = await receiptOf(client, hash);
      if (status !== "success") throw new Error(`${functionName} reverted in its block`);
    },
    data: (functionName, ...args) => encodeFunctionData({ abi, functionName, args } as never),
  };
}

function reasonOf(error: unknown): string {
  const revert = error instanceof BaseError && error.walk((one) => one instanceof ContractFunctionRevertedError);
  if (!(revert instanceof ContractFunctionRevertedError)) return String(error);
  return revert.data?.args?.[0] !== undefined && revert.data.errorName === "Error"
    ? String(revert.data.args[0])
    : (revert.data?.errorName ?? revert.reason ?? revert.signature ?? String(error));
}
