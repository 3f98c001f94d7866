import { type ContractCall, callData } from "./call-data.ts";

/** Calls of tokens (ERC-20). */
export const erc20 = {
  balanceOf: (token: string, account: string): ContractCall => ({
    to: token,
    data: callData("balanceOf(address)", account),
  }),
  allowance: (token: string, owner: string, spender: string): ContractCall => ({
    to: token,
    data: callData("allowance(address,address)", owner, spender),
  }),
  approve: (token: string, spender: string, amount: bigint): ContractCall => ({
    to: token,
    data: callData("approve(address,uint256)", spender, amount),
  }),
} as const;
