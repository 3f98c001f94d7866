import { bitcoinFacts } from "../../chains/bitcoin/facts.ts";
import { provedFee } from "../../chains/bitcoin/fee.ts";
import { type BitcoinTransaction, parsePsbt } from "../../chains/bitcoin/psbt.ts";
import type { BitcoinNetwork } from "../../chains/bitcoin/scripts.ts";
import { inputsToSign, insertSignatures } from "../../chains/bitcoin/signing.ts";
import {
  hashToSign,
  parseUnsignedTransaction,
  type RecoverableSignature,
  serializeSigned,
} from "../../chains/evm/transaction.ts";
import { insertSignature, messageOf, parseTransaction, signerIndex } from "../../chains/solana/transaction.ts";
import {
  hashTempoToSign,
  parseUnsignedTempoTransaction,
  serializeSignedTempo,
  tempoFacts,
} from "../../chains/tempo/transaction.ts";
import {
  parseTransaction as parseTronTransaction,
  serializeSigned as serializeSignedTron,
  transactionId,
  tronFacts,
} from "../../chains/tron/transaction.ts";
import { deriveAddress } from "../../crypto/addresses.ts";
import type { Curve } from "../../crypto/curves.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import { bytesFromHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { MissingFactError } from "../../policy/errors.ts";
import type { BitcoinTransactionFacts } from "../../policy/facts.ts";
import type { Scheme } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import { ethereumTransactionFacts, solanaTransactionFacts } from "./model.ts";
import type { Signature } from "./sign.ts";
import type { SigningKey } from "./store.ts";

/** Transactions by chain: parsed from the exact bytes that are signed, described to policies, signed, and assembled. */

/** One signature that a transaction needs from the signer. */
export interface SigningTask {
  scheme?: Scheme;
  /** A digest of 32 bytes, or the whole message for Ed25519. */
  payload: Uint8Array;
}

/** A parsed transaction. */
export interface ChainTransaction {
  /** The curve of the keys that can sign it. */
  curve: Curve;
  /**
   * The facts that policies see. Facts that depend on a suitable key are omitted if there is none, because then nothing is signed either.
   *
   * @param key undefined if `signWith` names no key
   */
  facts(read: Reader, organizationId: string, key: SigningKey | undefined): Promise<PolicyFacts>;
  /**
   * The signatures that the transaction needs, in order. To prepare many of them, the organization must wait its turn.
   *
   * @throws KeysteadError TRANSACTION_INVALID if the transaction must be signed by another key
   */
  tasks(key: SigningKey, organizationId: string): SigningTask[] | Promise<SigningTask[]>;
  /** The bytes of the signed transaction; `signatures` are in the order of the tasks. */
  assemble(key: SigningKey, signatures: readonly Signature[]): Buffer;
}

export const transactionTypes = [
  "TRANSACTION_TYPE_ETHEREUM",
  "TRANSACTION_TYPE_SOLANA",
  "TRANSACTION_TYPE_TRON",
  "TRANSACTION_TYPE_BITCOIN",
  "TRANSACTION_TYPE_TEMPO",
] as const;
export type TransactionType = (typeof transactionTypes)[number];

const FIELD = "parameters.unsignedTransaction";
/** How many inputs an error lists at most. */
const MAX_NAMED_INPUTS = 8;

/** @throws KeysteadError FIELD_INVALID, TRANSACTION_INVALID or TRANSACTION_UNSUPPORTED */
export function parseTransactionOf(type: TransactionType, hex: string): ChainTransaction {
  const bytes = bytesFromHex(hex.replace(/^0x/i, ""));
  if (!bytes || bytes.length === 0) {
    return fail("FIELD_INVALID", {
      field: FIELD,
      reason: "must be an even number of hex digits, with or without 0x",
    });
  }
  return parsers[type](bytes);
}

const parsers: Record<TransactionType, (bytes: Buffer) => ChainTransaction> = {
  TRANSACTION_TYPE_ETHEREUM: ethereumTransaction,
  TRANSACTION_TYPE_SOLANA: solanaTransaction,
  TRANSACTION_TYPE_TRON: tronTransaction,
  TRANSACTION_TYPE_BITCOIN: bitcoinTransaction,
  TRANSACTION_TYPE_TEMPO: tempoTransaction,
};

const ethereumAddress = ({ publicKey }: SigningKey): string =>
  deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", publicKey);

const recoverable = ({ r, s, v }: Signature): RecoverableSignature => ({ r, s, yParity: v === "01" ? 1 : 0 });

const one = (signatures: readonly Signature[]): Signature => signatures[0] as Signature;
const bytesOf = ({ r, s }: Signature): Buffer => Buffer.from(r + s, "hex");

function ethereumTransaction(bytes: Buffer): ChainTransaction {
  const transaction = parseUnsignedTransaction(bytes, FIELD);
  return {
    curve: "CURVE_SECP256K1",
    async facts(read, organizationId, key) {
      return key ? ethereumTransactionFacts(read, organizationId, transaction, ethereumAddress(key)) : {};
    },
    tasks: () => [{ payload: hashToSign(transaction) }],
    assemble: (_, signatures) => serializeSigned(transaction, recoverable(one(signatures))),
  };
}

function tempoTransaction(bytes: Buffer): ChainTransaction {
  const transaction = parseUnsignedTempoTransaction(bytes, FIELD);
  return {
    curve: "CURVE_SECP256K1",
    facts: async (_read, _organizationId, key) =>
      key ? { tempo: { tx: tempoFacts(transaction, ethereumAddress(key)) } } : {},
    tasks: () => [{ payload: hashTempoToSign(transaction) }],
    assemble: (_, signatures) => serializeSignedTempo(transaction, recoverable(one(signatures))),
  };
}

function solanaTransaction(bytes: Buffer): ChainTransaction {
  const transaction = parseTransaction(bytes, FIELD);
  const addressOf = ({ publicKey }: SigningKey) => deriveAddress("ADDRESS_FORMAT_SOLANA", "CURVE_ED25519", publicKey);
  return {
    curve: "CURVE_ED25519",
    facts: (read, organizationId) => solanaTransactionFacts(read, organizationId, transaction),
    tasks(key) {
      const address = addressOf(key);
      if (signerIndex(transaction, address) === undefined) refuseOtherKey(`is not to be signed by ${address}`);
      return [{ payload: messageOf(transaction) }];
    },
    assemble: (key, signatures) => insertSignature(transaction, addressOf(key), bytesOf(one(signatures))),
  };
}

function tronTransaction(bytes: Buffer): ChainTransaction {
  const transaction = parseTronTransaction(bytes, FIELD);
  return {
    curve: "CURVE_SECP256K1",
    facts: async () => ({ tron: { tx: tronFacts(transaction) } }),
    tasks(key) {
      const address = deriveAddress("ADDRESS_FORMAT_TRON", "CURVE_SECP256K1", key.publicKey);
      const { ownerAddress, permissionId } = transaction;
      // A key may have a permission on another account. The transaction then names the permission.
      if (ownerAddress !== address && permissionId === 0n) {
        refuseOtherKey(`is of the account ${ownerAddress}, and the key is that of ${address}`);
      }
      return [{ payload: transactionId(bytes) }];
    },
    assemble(_, signatures) {
      const signature = one(signatures);
      return serializeSignedTron(bytes, Buffer.concat([bytesOf(signature), Buffer.from(signature.v, "hex")]));
    },
  };
}

function bitcoinTransaction(bytes: Buffer): ChainTransaction {
  const transaction = parsePsbt(bytes, FIELD);
  return {
    curve: "CURVE_SECP256K1",
    facts: async (_read, _organizationId, key) => ({ bitcoin: { tx: bitcoinPolicyFacts(transaction, key) } }),
    tasks: ({ publicKey }, organizationId) =>
      mapInTurns(
        inputsToSign(transaction, publicKey),
        ({ sighash, kind }) =>
          kind === "taproot" ? { payload: sighash, scheme: "bip340Taproot" } : { payload: sighash },
        organizationId,
      ),
    assemble({ publicKey }, signatures) {
      const inputs = inputsToSign(transaction, publicKey);
      return insertSignatures(
        transaction,
        publicKey,
        inputs.map(({ index }, position) => ({ index, signature: bytesOf(signatures[position] as Signature) })),
      );
    },
  };
}

function bitcoinPolicyFacts(transaction: BitcoinTransaction, key: SigningKey | undefined): BitcoinTransactionFacts {
  const proved = provedFee(transaction, key?.publicKey);
  return {
    ...bitcoinFacts(transaction, networkOf(key)),
    get fee() {
      if ("fee" in proved) return proved.fee;
      throw new MissingFactError(unprovedAmounts(proved.unproved));
    },
  };
}

function unprovedAmounts(inputs: readonly number[]): string {
  const [only, second] = inputs;
  if (second === undefined) return `the amount of input ${only} is not proved; add its non_witness_utxo`;
  const named = inputs.slice(0, MAX_NAMED_INPUTS).join(", ");
  const more = inputs.length > MAX_NAMED_INPUTS ? ` and ${inputs.length - MAX_NAMED_INPUTS} more` : "";
  return `the amounts of inputs ${named}${more} are not proved; add their non_witness_utxo`;
}

/** The network whose address formats policies see: that of the signing address, or mainnet. */
function networkOf(key: SigningKey | undefined): BitcoinNetwork {
  const [, network] =
    /^ADDRESS_FORMAT_BITCOIN_(MAINNET|TESTNET|SIGNET|REGTEST)_/.exec(key?.address?.format ?? "") ?? [];
  return (network as BitcoinNetwork | undefined) ?? "MAINNET";
}

function refuseOtherKey(reason: string): never {
  fail("TRANSACTION_INVALID", { field: FIELD, reason });
}
