import { keccak_256 } from "@noble/hashes/sha3.js";
import aave from "../../chains/evm/artifacts/AaveFeeWrapper.json" with { type: "json" };
import morpho from "../../chains/evm/artifacts/MorphoFeeWrapper.json" with { type: "json" };
import { type ContractCall, callData, words } from "../../chains/evm/call-data.ts";
import { erc20 } from "../../chains/evm/erc20.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { encodeRlp, rlpInteger } from "../../chains/evm/rlp.ts";
import { withChecksum } from "../../crypto/addresses/ethereum.ts";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";
import type { EarnProvider } from "./services.ts";

/** How the contracts in `contracts/` are deployed and called. Addresses are lowercase. */

const creationCodes: Record<EarnProvider, string> = {
  EARN_PROVIDER_MORPHO: morpho.creationCode,
  EARN_PROVIDER_AAVE: aave.creationCode,
};

export interface WrapperTerms {
  provider: EarnProvider;
  vaultAddress: string;
  clientFeeWallet: string;
  clientFeeBps: number;
  serviceFeeWallet: string;
  serviceFeeBps: number;
}

/**
 * The salt and init code for the deployment proxy. All terms and the organization are part of them, and so of the address: two organizations with
 * the same terms have a wrapper each.
 */
export const wrapperContract = (
  { organizationId, chain }: { organizationId: string; chain: EvmChain },
  { provider, vaultAddress, clientFeeWallet, clientFeeBps, serviceFeeWallet, serviceFeeBps }: WrapperTerms,
): { salt: string; initCode: string } => ({
  salt: `0x${toHex(keccak_256(Buffer.from(`earn wrapper ${organizationId} ${chain}`)))}`,
  initCode: `${creationCodes[provider]}${words(vaultAddress, clientFeeWallet, clientFeeBps, serviceFeeWallet, serviceFeeBps)}`,
});

/** The address of the splitter, which is the first contract that the wrapper creates: that of CREATE for nonce 1 (EIP-161). */
export function splitterAddressOf(wrapperAddress: string): string {
  const maker = bytesFromHex(wrapperAddress.slice(2)) as Uint8Array;
  return `0x${toHex(keccak_256(encodeRlp([maker, rlpInteger(1n)]))).slice(24)}`;
}

/** Calls that read from vaults, wrappers and tokens. */
export const questions = {
  asset: (vault: string): ContractCall => ({ to: vault, data: callData("asset()") }),
  decimals: (token: string): ContractCall => ({ to: token, data: callData("decimals()") }),
  totalAssets: (vault: string): ContractCall => ({ to: vault, data: callData("totalAssets()") }),
  convertToAssets: (vault: string, shares: bigint): ContractCall => ({
    to: vault,
    data: callData("convertToAssets(uint256)", shares),
  }),
  balanceOf: erc20.balanceOf,
  allowance: erc20.allowance,
  previewRedeem: (wrapper: string, shares: bigint): ContractCall => ({
    to: wrapper,
    data: callData("previewRedeem(uint256)", shares),
  }),
  maxWithdraw: (wrapper: string, account: string): ContractCall => ({
    to: wrapper,
    data: callData("maxWithdraw(address)", account),
  }),
  releasable: (splitter: string, token: string, account: string): ContractCall => ({
    to: splitter,
    data: callData("releasable(address,address)", token, account),
  }),
} as const;

/** Calls that change their state. */
export const actions = {
  approve: erc20.approve,
  deposit: (wrapper: string, assets: bigint, account: string): ContractCall => ({
    to: wrapper,
    data: callData("deposit(uint256,address)", assets, account),
  }),
  withdraw: (wrapper: string, assets: bigint, account: string): ContractCall => ({
    to: wrapper,
    data: callData("withdraw(uint256,address,address)", assets, account, account),
  }),
  redeem: (wrapper: string, shares: bigint, account: string): ContractCall => ({
    to: wrapper,
    data: callData("redeem(uint256,address,address)", shares, account, account),
  }),
  /** Depending on the kind of splitter, pays one account's share, or everybody's at once. */
  claim: (provider: EarnProvider, splitter: string, token: string, account: string): ContractCall => ({
    to: splitter,
    data:
      provider === "EARN_PROVIDER_MORPHO"
        ? callData("release(address,address)", token, account)
        : callData("splitRevenue(address)", token),
  }),
} as const;

/** An address as in responses. */
export const shownAddress = withChecksum;
