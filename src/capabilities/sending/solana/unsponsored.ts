import { createPublicKey } from "node:crypto";
import { base58 } from "@scure/base";
import { usesDurableNonce } from "../../../chains/solana/durable-nonce.ts";
import {
  decodeWireTransaction,
  messageOf,
  NO_BLOCKHASH,
  requiredSigners,
  type SolanaTransaction,
  signerIndex,
  withBlockhash,
} from "../../../chains/solana/transaction.ts";
import { deriveAddress } from "../../../crypto/addresses.ts";
import { verifySignature } from "../../../crypto/verify-signature.ts";
import { fail } from "../../../kernel/errors.ts";
import type { Reader } from "../../../storage/engine.ts";
import { lookUpSigningKey, type SigningKey } from "../../signing/store.ts";

/** A transaction whose sender pays. It is signed as given, except for its blockhash. */

export const TRANSACTION_FIELD = "parameters.unsignedTransaction";
const BLOCKHASH_LENGTH = 32;

/** @throws KeysteadError TRANSACTION_INVALID, TRANSACTION_UNSUPPORTED */
export function parseUnsigned(hex: string): SolanaTransaction {
  const transaction = decodeWireTransaction(hex, "hex", TRANSACTION_FIELD);
  if (usesDurableNonce(transaction)) {
    const reason = "has a durable nonce instead of a blockhash; sign it with sign_transaction and send it yourself";
    fail("TRANSACTION_UNSUPPORTED", { field: TRANSACTION_FIELD, reason });
  }
  return transaction;
}

/** The blockhash that a request names, in base58: separately or in its transaction; undefined if it leaves it open. */
export function wantedBlockhash(
  transaction: Pick<SolanaTransaction, "recentBlockhash">,
  recentBlockhash = "",
): string | undefined {
  const wanted = recentBlockhash === "" ? transaction.recentBlockhash : recentBlockhash;
  if (blockhashBytes(wanted)?.length !== BLOCKHASH_LENGTH) {
    fail("FIELD_INVALID", { field: "parameters.recentBlockhash", reason: "must be a blockhash: 32 bytes in base58" });
  }
  return wanted === NO_BLOCKHASH ? undefined : wanted;
}

function blockhashBytes(text: string): Uint8Array | undefined {
  try {
    return base58.decode(text);
  } catch {
    return undefined;
  }
}

/** The transaction with this blockhash, as it is signed and sent. */
export function withWantedBlockhash(transaction: SolanaTransaction, blockhash: string): SolanaTransaction {
  return transaction.recentBlockhash === blockhash ? transaction : withBlockhash(transaction, base58.decode(blockhash));
}

export const solanaAddressOf = ({ publicKey }: SigningKey): string =>
  deriveAddress("ADDRESS_FORMAT_SOLANA", "CURVE_ED25519", publicKey);

/**
 * The keys that a request names, in its order, which must be the order of the transaction's signers.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, FIELD_INVALID, TRANSACTION_INVALID
 */
export async function findSigners(
  read: Reader,
  organizationId: string,
  transaction: SolanaTransaction,
  signWiths: readonly string[],
): Promise<SigningKey[]> {
  const keys: SigningKey[] = [];
  let last = -1;
  for (const [index, signWith] of signWiths.entries()) {
    const field = `parameters.signWiths.${index}`;
    const key =
      (await lookUpSigningKey(read, organizationId, signWith)) ?? fail("SIGNING_RESOURCE_NOT_FOUND", { field });
    if (key.curve !== "CURVE_ED25519") {
      fail("FIELD_INVALID", { field, reason: `names a key on ${key.curve}; Solana requires keys on CURVE_ED25519` });
    }
    const place =
      signerIndex(transaction, solanaAddressOf(key)) ?? refuseSigner(transaction, field, "does not sign it");
    if (place <= last) refuseSigner(transaction, field, "does not come after the one before it");
    last = place;
    keys.push(key);
  }
  return keys;
}

function refuseSigner(transaction: SolanaTransaction, field: string, problem: string): never {
  const signers = requiredSigners(transaction).join(", ");
  fail("FIELD_INVALID", { field, reason: `${problem}; the transaction's signers are, in this order: ${signers}` });
}

/**
 * Refuses a transaction that still lacks a signature after its named signers have signed.
 *
 * @throws KeysteadError TRANSACTION_INVALID
 */
export async function requireOtherSignatures(
  transaction: SolanaTransaction,
  signers: readonly string[],
): Promise<void> {
  const message = messageOf(transaction);
  for (const [place, address] of requiredSigners(transaction).entries()) {
    if (signers.includes(address)) continue;
    const signature = transaction.signatures[place] as Buffer;
    if (await verifySignature(null, message, ed25519Key(address), signature)) continue;
    const reason = `has no valid signature by ${address} over the message that is sent; name that address in \`signWiths\`, or have it sign first, with the transaction's blockhash`;
    fail("TRANSACTION_INVALID", { field: TRANSACTION_FIELD, reason });
  }
}

const ed25519Key = (address: string) =>
  createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(base58.decode(address)).toString("base64url") },
    format: "jwk",
  });

/** The first signature, which identifies the transaction on chain, in base58. */
export const signatureOf = (wire: Uint8Array): string => base58.encode(wire.subarray(1, 65));
