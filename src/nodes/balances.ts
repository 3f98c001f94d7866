import type { Chain } from "./families.ts";
import { integerIn, membersOf } from "./hex-values.ts";
import type { Nodes } from "./pool.ts";

/**
 * An account's balance of its chain's native asset, in wei or lamports.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export const balanceOf = <Reached extends Chain>(
  nodes: Pick<Nodes<Reached>, "call">,
  chain: Reached,
  address: string,
): Promise<bigint> =>
  chain.startsWith("solana:")
    ? nodes.call(chain, {
        method: "getBalance",
        params: [address],
        read: (answer) => ("result" in answer ? lamportsIn(answer.result) : undefined),
      })
    : nodes.call(chain, {
        method: "eth_getBalance",
        params: [address, "latest"],
        read: (answer) => ("result" in answer ? integerIn(answer.result) : undefined),
      });

function lamportsIn(result: unknown): bigint | undefined {
  const { value } = membersOf(result);
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
}
