import { keccak256 } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type EvmNode, TEST_CHAIN_ID } from "./anvil.ts";

export interface SignedTransfer {
  signedTransaction: string;
  hash: string;
  from: string;
  to: string;
}

/** An account of its own on the node, with money for anything. */
export async function newSender({ call }: EvmNode, chainId = TEST_CHAIN_ID) {
  const privateKey = generatePrivateKey();
  const account = privateKeyToAccount(privateKey);
  await call("anvil_setBalance", account.address, `0x${(10n ** 21n).toString(16)}`);
  return {
    address: account.address,
    privateKey,
    /** A transfer of 1 wei to an address that nobody else pays to, unless said. */
    async sign(more: object = {}): Promise<SignedTransfer> {
      const to = privateKeyToAccount(generatePrivateKey()).address;
      const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
      const transaction = { type: "eip1559", chainId, nonce: 0, gas: 21_000n, ...fees, to, value: 1n, ...more };
      const signedTransaction = await account.signTransaction(transaction as never);
      return { signedTransaction, hash: keccak256(signedTransaction), from: account.address, to };
    },
  };
}
