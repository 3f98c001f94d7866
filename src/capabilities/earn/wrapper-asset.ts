import type { EvmChain } from "../../chains/evm/networks.ts";
import { fail } from "../../kernel/errors.ts";
import { addressIn, readContracts } from "../../nodes/evm-reads.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import { questions } from "./contracts.ts";

/**
 * Why a deployed wrapper cannot be used with an asset; undefined if it can. A wrapper takes over its vault's asset when it is deployed and keeps
 * it, but a vault may name another one before or after that. Deposits of any other asset would revert.
 *
 * @param asset lowercase
 * @throws KeysteadError CHAIN_UNAVAILABLE, also if no node returns the wrapper
 */
export async function problemOfAsset(
  evm: EvmNodes,
  { chain, wrapperAddress }: { chain: EvmChain; wrapperAddress: string },
  asset: string,
): Promise<string | undefined> {
  const [answer] = await readContracts(evm, chain, [questions.asset(wrapperAddress)]);
  const taken = addressIn(answer);
  if (taken === undefined) return fail("CHAIN_UNAVAILABLE", { chain, reason: "no node returns the wrapper" });
  if (taken === asset) return undefined;
  return `the vault's asset was ${asset} when this was submitted, but ${taken} when the wrapper was deployed, and a wrapper keeps its asset`;
}
