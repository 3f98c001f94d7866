import type { EvmChain } from "../chains/evm/networks.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_BLOCK_ANSWER_BYTES, MAX_BLOCK_CALLS } from "../kernel/limits.ts";
import { tokenTransferIn } from "./evm-blocks.ts";
import { nativeTransfers, type Transfer } from "./evm-traces.ts";
import { hashIn, isList, membersOf } from "./hex-values.ts";
import { resultOf } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/**
 * The transfers of one successful transaction: tokens and the native asset, including those inside calls if a node traces them. Undefined
 * if no block contains the transaction. "untold" if one does, but nodes do not report the transfers or report too many to read.
 *
 * @param hash lowercase
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function transfersOf(
  evm: EvmNodes,
  chain: EvmChain,
  hash: string,
  of: "tokens" | "native asset",
): Promise<Transfer[] | "untold" | undefined> {
  const tokens = await evm.call<Transfer[] | "untold" | "none">(chain, {
    method: "eth_getTransactionReceipt",
    params: [hash],
    maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
    readTooLarge: () => "untold",
    read: (answer) => {
      const receipt = resultOf(answer);
      if (receipt === null) return "none";
      const { transactionHash, logs } = membersOf(receipt);
      if (hashIn(transactionHash) !== hash || !isList(logs)) return undefined;
      return logs.flatMap((log) => tokenTransferIn(membersOf(log)) ?? []);
    },
  });
  if (tokens === "none") return undefined;
  return of === "tokens" ? tokens : traced(evm, chain, hash);
}

async function traced(evm: EvmNodes, chain: EvmChain, hash: string): Promise<Transfer[] | "untold"> {
  try {
    return await evm.call<Transfer[] | "untold">(chain, {
      method: "debug_traceTransaction",
      params: [hash, { tracer: "callTracer" }],
      maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
      readTooLarge: () => "untold",
      read: (answer) => nativeTransfers(resultOf(answer), MAX_BLOCK_CALLS),
    });
  } catch (error) {
    if (error instanceof KeysteadError && error.code === "CHAIN_UNAVAILABLE") return "untold";
    throw error;
  }
}
