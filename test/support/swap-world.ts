import { readFileSync } from "node:fs";
import { type Abi, type Address, getContractAddress } from "viem";
import type { EvmNode } from "./anvil.ts";
import { testEarnNode } from "./chain.ts";
import type { Client, Json } from "./client.ts";
import { contractAt, deployContract, mintTestToken } from "./deployed-contracts.ts";
import { ETHER, giveEther, newEvmWallet } from "./evm-sender.ts";
import { until } from "./until.ts";

/** A router and two tokens that it exchanges, on the node that vaults to earn in are on. */

const MAKER: Address = `0x${"5a".repeat(20)}`;
export const SWAP_ROUTER = getContractAddress({ from: MAKER, nonce: 0n });
export const SWAP_INPUT = getContractAddress({ from: MAKER, nonce: 1n });
export const SWAP_OUTPUT = getContractAddress({ from: MAKER, nonce: 2n });

/** Identifiers of assets there. */
export const SWAP_CHAIN = "eip155:8453";
export const NATIVE_ASSET = `${SWAP_CHAIN}/slip44:60`;
export const assetOf = (token: string): string => `${SWAP_CHAIN}/erc20:${token}`;

export const swapRouterAbi = (
  JSON.parse(readFileSync(new URL("artifacts/SwapRouter.json", import.meta.url), "utf8")) as { abi: Abi }
).abi;

/** On a chain that nobody has used yet. */
export async function deploySwapWorld(node: EvmNode): Promise<void> {
  await giveEther(node, MAKER, 10n ** 6n * ETHER);
  await node.call("anvil_impersonateAccount", MAKER);
  const router = await deployContract(node, MAKER, "SwapRouter");
  await deployContract(node, MAKER, "TestToken");
  const output = await deployContract(node, MAKER, "TestToken");
  await output.write(MAKER, "mint", router.address, 10n ** 30n);
  await giveEther(node, router.address, 10n ** 6n * ETHER);
}

/** A wallet with ether and an amount of the input token; its address. */
export async function newSwapper(client: Client, amount = 10n ** 12n, node = testEarnNode()): Promise<string> {
  const { addresses } = await newEvmWallet(client, node);
  const [address] = addresses as [string];
  await mintTestToken(node, SWAP_INPUT, address, amount);
  return address;
}

/** How the router goes wrong. */
export const ROUTER_MODES = { reverts: 1, bringsLess: 2, takesMore: 3, takesLess: 4, takesAnother: 5 } as const;

export const etherOf = async (address: string): Promise<bigint> =>
  BigInt((await testEarnNode().call("eth_getBalance", address, "latest")) as string);

export const tokenBalance = (token: string, of: string): Promise<bigint> =>
  contractAt(testEarnNode(), "TestToken", token).read("balanceOf", of);
export const allowanceOf = (token: string, of: string): Promise<bigint> =>
  contractAt(testEarnNode(), "TestToken", token).read("allowance", of, SWAP_ROUTER);

/** What `create_swap_quote` takes. */
export const quoteParams = (signWith: string, more: object = {}) => ({
  signWith,
  inputToken: assetOf(SWAP_INPUT),
  outputToken: assetOf(SWAP_OUTPUT),
  inputAmount: "1000000",
  ...more,
});

/** What `execute_swap` takes for a quote that was just taken. */
export async function quoted(client: Client, params: ReturnType<typeof quoteParams>, more: object = {}): Promise<Json> {
  const { quotes } = await client.result("create_swap_quote", params);
  const [{ quoteId, outputAmount: quotedOutputAmount, minOutputAmount }] = quotes;
  const { inputToken, outputToken, inputAmount } = params;
  const restated = { inputToken, outputToken, inputAmount, quotedOutputAmount, minOutputAmount };
  return { quoteId, ...restated, sponsor: false, ...more };
}

/** What a swap has come to in the end. */
export async function swapEnded(client: Client, swapRequestId: string, isEnd = isOver): Promise<Json> {
  let status: Json = {};
  await until(async () => {
    status = await client.read("get_swap_status", { swapRequestId });
    return isEnd(status);
  }, `the swap ${swapRequestId} to end`);
  return status;
}

const isOver = ({ status, outputAmount }: Json): boolean =>
  status === "FAILED" || (status === "COMPLETED" && outputAmount !== undefined);
