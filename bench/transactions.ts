import { base58 } from "@scure/base";
import * as btc from "@scure/btc-signer";
import { serializeTransaction } from "viem";
import { deriveAddress } from "../src/crypto/addresses.ts";

/** One ordinary unsigned transaction for each chain, in hex, that the key with this public key signs. */
export const unsignedTransactions = {
  /** An EIP-1559 token transfer. */
  ethereum: (): string =>
    serializeTransaction({
      type: "eip1559",
      chainId: 1,
      nonce: 7,
      gas: 60_000n,
      maxFeePerGas: 30_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
      to: `0x${"35".repeat(20)}`,
      data: `0xa9059cbb${"00".repeat(12)}${"12".repeat(20)}${"00".repeat(30)}03e8`,
    }),

  /** A transfer of the System program: one signer, the receiver and the program as accounts. */
  solana(publicKey: Buffer): string {
    const header = [1, 0, 1];
    const accounts = [publicKey, Buffer.alloc(32, 9), base58.decode("11111111111111111111111111111111")];
    const transfer = Buffer.alloc(12);
    transfer.writeUInt32LE(2);
    transfer.writeBigUInt64LE(1_000_000n, 4);
    const instruction = [2, 2, 0, 1, transfer.length, ...transfer];
    const message = [...header, 3, ...Buffer.concat(accounts), ...Buffer.alloc(32, 7), 1, ...instruction];
    return Buffer.from([1, ...Buffer.alloc(64), ...message]).toString("hex");
  },

  /** A TransferContract: reference block, expiration, contract, timestamp. */
  tron(publicKey: Buffer): string {
    const ethereum = deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", publicKey);
    const own = `41${ethereum.slice(2).toLowerCase()}`;
    const value = `0a15${own}121541${"42".repeat(20)}18e807`;
    const url = Buffer.from("type.googleapis.com/protocol.TransferContract").toString("hex");
    const any = `0a2d${url}12${(value.length / 2).toString(16)}${value}`;
    const contract = `080112${(any.length / 2).toString(16)}${any}`;
    return `0a02267e22089a447d222e8de9f240e0a499ffbc315a${(contract.length / 2).toString(16)}${contract}7080d095ffbc31`;
  },

  /** One P2WPKH input and two outputs. */
  bitcoin(publicKey: Buffer): string {
    const { script, address } = btc.p2wpkh(publicKey);
    const transaction = new btc.Transaction();
    transaction.addInput({ txid: "11".repeat(32), index: 0, witnessUtxo: { script, amount: 100_000n } });
    for (const amount of [40_000n, 50_000n]) transaction.addOutputAddress(address as string, amount);
    return Buffer.from(transaction.toPSBT(0)).toString("hex");
  },

  /** Two calls, as one of the vectors has them. */
  tempo: (): string =>
    "76f88d82a5bf843b9aca008506fc23ac0082ea60f85ef85c9420c000000000000000000000000000000000000180b844a9059cbb0000000000000000000000009a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a0000000000000000000000000000000000000000000000000de0b6b3a7640000c0800780809420c000000000000000000000000000000000000180c0",
} as const;
