import type { EvmChain } from "../../chains/evm/networks.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { EvmOffer } from "../../providers/swaps/provider.ts";

/** Restricts the calls of wallets to the contracts that the operator names. */

/** @throws KeysteadError SWAP_QUOTE_REFUSED */
export function requireAllowed(
  { provider, terms }: NonNullable<Services["swaps"]>,
  chain: EvmChain,
  { call, spender }: EvmOffer,
): void {
  const allowed = terms.contracts[chain] ?? [];
  for (const contract of [call.to, ...(spender === null ? [] : [spender])]) {
    if (allowed.includes(contract)) continue;
    const reason = `${contract} is not among the contracts on ${chain} that the operator of this server has listed in \`swaps.contracts\``;
    fail("SWAP_QUOTE_REFUSED", { provider, reason });
  }
}

/** Throws the error for an offer of the provider that must not be signed. */
export const refuseOffer =
  ({ provider }: NonNullable<Services["swaps"]>) =>
  (reason: string): never =>
    fail("SWAP_QUOTE_REFUSED", { provider, reason });
