import { base58 } from "@scure/base";
import { type Static, Type } from "typebox";
import {
  insertSignature,
  messageOf,
  type SolanaTransaction,
  transactionOfMessage,
  withBlockhash,
} from "../../../chains/solana/transaction.ts";
import type { QuoteTerms } from "../../../crypto/swap-quotes.ts";
import type { PrepareContext } from "../../../engine/declare.ts";
import { swapCluster } from "../../../engine/services.ts";
import { fail } from "../../../kernel/errors.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { TxError } from "../../sending/model.ts";
import { chooseBlockhash, NO_BLOCKHASH, solanaAddressOf, wantedBlockhash } from "../../sending/store.ts";
import { askSigner } from "../../signing/model.ts";
import { findSigningKey, type SigningKey } from "../../signing/store.ts";
import { type Refuse, requireForm } from "./message.ts";
import { faultOnSolana } from "./trial.ts";

/** A swap on Solana from its quote to its signature: the quote's message gets a blockhash, is tried out and signed, and stays as it is. */

export const SolanaPart = Type.Object({
  /** In base58. */
  recentBlockhash: Type.String(),
  /** Why it is never signed. */
  fault: Type.Optional(TxError),
});
type SolanaPart = Static<typeof SolanaPart>;

/** Terms of quotes on Solana have a message. */
const messageIn = ({ message }: QuoteTerms): Buffer => {
  if (message === undefined) throw new Error("a quote on Solana has no message");
  return Buffer.from(message, "hex");
};

/** The transaction of a quote as it is signed, with an empty signature. */
export const swapTransaction = (terms: QuoteTerms, { recentBlockhash }: SolanaPart): SolanaTransaction =>
  withBlockhash(transactionOfMessage(messageIn(terms), "message"), base58.decode(recentBlockhash));

/**
 * @param named the blockhash of the request
 * @throws KeysteadError FIELD_INVALID, SEND_REPEATED, CHAIN_UNAVAILABLE, and what `refuse` throws
 */
export async function planOnSolana(
  nodes: SolanaNodes,
  terms: QuoteTerms,
  tokens: { input: string | null; output: string | null },
  programs: readonly string[],
  named: string | undefined,
  refuse: Refuse,
): Promise<SolanaPart> {
  const chain = swapCluster;
  const message = messageIn(terms);
  const transaction = requireForm(message, terms.signWith, programs, refuse);
  const swap = {
    chain,
    wallet: terms.signWith,
    input: { token: tokens.input, amount: BigInt(terms.inputAmount) },
    output: { token: tokens.output, least: BigInt(terms.minOutputAmount) },
    programs,
  };
  const wanted = wantedBlockhash({ recentBlockhash: NO_BLOCKHASH }, named);
  const fault = await faultOnSolana(nodes, swap, transaction);
  const recentBlockhash = wanted ?? (await chooseBlockhash(nodes, chain, message));
  return { recentBlockhash, ...(fault ? { fault } : {}) };
}

/** The signed wire transaction, and whose signature it has. */
export async function signOnSolana(
  context: PrepareContext<unknown, "sign", unknown>,
  terms: QuoteTerms,
  part: SolanaPart,
): Promise<{ key: SigningKey; signed: Buffer }> {
  const { read, organization } = context;
  const key = await findSigningKey(read, organization.id, terms.signWith);
  // What was decided on is that this one signs; a key that has taken its name since does not.
  if (key.curve !== "CURVE_ED25519" || solanaAddressOf(key) !== terms.signWith) fail("SIGNING_RESOURCE_NOT_FOUND", {});
  const transaction = swapTransaction(terms, part);
  const [signature] = await askSigner(context, key, { hash: "none", payloads: [messageOf(transaction)] });
  const { r = "", s = "" } = signature ?? {};
  return { key, signed: insertSignature(transaction, terms.signWith, Buffer.from(r + s, "hex")) };
}
