import { create2Address, DEPLOYMENT_PROXY, DEPLOYMENT_PROXY_CODE, deploymentData } from "../../chains/evm/create2.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { fail } from "../../kernel/errors.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import type { EvmNodes } from "../../nodes/pool.ts";

/** Contracts whose addresses are known before they are deployed (ADR 0086). */
export interface Deployment {
  /** Lowercase. */
  address: string;
  /** The call that deploys the contract, from any account; undefined if it is already deployed. */
  call: { to: string; data: string } | undefined;
}

/**
 * Determines the CREATE2 address of a contract and the call that deploys it there.
 *
 * @param contract a salt of 32 bytes, and the creation code followed by the constructor's arguments; 0x hex
 * @throws KeysteadError CHAIN_UNAVAILABLE, CHAIN_WITHOUT_FACTORY
 */
export async function planDeployment(
  evm: EvmNodes,
  chain: EvmChain,
  contract: { salt: string; initCode: string },
): Promise<Deployment> {
  const address = create2Address({ factory: DEPLOYMENT_PROXY, ...contract });
  if ((await codeAt(evm, chain, address)) !== "0x") return { address, call: undefined };
  if ((await codeAt(evm, chain, DEPLOYMENT_PROXY)) !== DEPLOYMENT_PROXY_CODE) {
    return fail("CHAIN_WITHOUT_FACTORY", { chain, factory: DEPLOYMENT_PROXY });
  }
  return { address, call: { to: DEPLOYMENT_PROXY, data: deploymentData(contract) } };
}
