import { createPrivateKey, randomBytes, sign } from "node:crypto";
import { AccountRole, type Address, getAddressDecoder, getU64Encoder, type Instruction } from "@solana/kit";
import { insertSignature, messageOf, parseTransaction } from "../../src/chains/solana/transaction.ts";
import type { Client, Json } from "./client.ts";
import { compiled, SYSTEM_PROGRAM } from "./solana.ts";
import type { SolanaRpc } from "./solana-rpc.ts";
import { until } from "./until.ts";

export const SOL = 1_000_000_000n;
/** Stands in a message for a blockhash that is still to come. */
export const NO_BLOCKHASH = SYSTEM_PROGRAM as string;

/** An Ed25519 key that the service does not have. */
export function newStranger() {
  // The PKCS#8 frame of an Ed25519 seed (RFC 8410).
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), randomBytes(32)]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x = "" } = key.export({ format: "jwk" });
  const address = getAddressDecoder().decode(Buffer.from(x, "base64url"));
  return {
    address,
    /** The wire transaction with this key's signature in its place. */
    sign(wire: Uint8Array): Buffer {
      const transaction = parseTransaction(wire, "wire");
      return insertSignature(transaction, address, sign(undefined, messageOf(transaction), key));
    },
  };
}

/** A wallet of the client's organization with so many Solana accounts, each with so many lamports. */
export async function newSolanaWallet(
  client: Client,
  node: SolanaRpc,
  count = 1,
  amount = 10n * SOL,
): Promise<{ walletId: string; addresses: Address[] }> {
  const wallet = await client.result("create_wallet", {
    walletName: `Solana ${randomBytes(8).toString("hex")}`,
    accounts: Array.from({ length: count }, (_, index) => ({
      curve: "CURVE_ED25519",
      pathFormat: "PATH_FORMAT_BIP32",
      path: `m/44'/501'/${index}'/0'`,
      addressFormat: "ADDRESS_FORMAT_SOLANA",
    })),
  });
  if (amount > 0n) for (const address of wallet.addresses) await node.call("requestAirdrop", address, Number(amount));
  return wallet;
}

export const transfer = (from: Address, to: Address, amount: bigint): Instruction => ({
  programAddress: SYSTEM_PROGRAM,
  accounts: [
    { address: from, role: AccountRole.WRITABLE_SIGNER },
    { address: to, role: AccountRole.WRITABLE },
  ],
  data: Uint8Array.from([2, 0, 0, 0, ...getU64Encoder().encode(amount)]),
});

export interface Unsigned {
  wire: Buffer;
  /** Whom the transfers go to, and nobody else's. */
  to: Address;
  from: Address[];
  /** The same with this blockhash, as Solana's own library compiles it. */
  at: (blockhash: string) => Buffer;
}

/** A transaction in which each of these sends 1 SOL to the same stranger; the first pays the fee. */
export function unsignedTransfer(
  from: Address[],
  { version = "legacy", blockhash = NO_BLOCKHASH }: { version?: "legacy" | 0; blockhash?: string } = {},
): Unsigned {
  const to = newStranger().address;
  const instructions = from.map((address) => transfer(address, to, SOL));
  const at = (newest: string) => compiled({ version, payer: from[0] as Address, blockhash: newest, instructions });
  const wire = at(blockhash);
  return { wire, to, at, from: parseTransaction(wire, "wire").accounts.flatMap(signerOf) };
}

const signerOf = ({ key, signer }: { key: string; signer: boolean }): Address[] => (signer ? [key as Address] : []);

export const latestBlockhash = async (node: SolanaRpc): Promise<string> =>
  ((await node.call("getLatestBlockhash", { commitment: "confirmed" })) as Json).value.blockhash;

export const lamportsOf = async (node: SolanaRpc, address: string): Promise<bigint> =>
  BigInt(((await node.call("getBalance", address)) as Json).value);

/** The status once it is one of these. */
export async function sendStatus(
  client: Client,
  sendTransactionStatusId: string,
  wanted: readonly string[] = ["INCLUDED", "FAILED"],
): Promise<Json> {
  let status: Json;
  await until(
    async () => {
      status = await client.read("get_send_transaction_status", { sendTransactionStatusId });
      return wanted.includes(status.txStatus);
    },
    `transaction ${sendTransactionStatusId} to be ${wanted.join(" or ")}`,
  );
  return status;
}
