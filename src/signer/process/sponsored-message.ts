import { additionsIn, asSponsored, costOfSponsored } from "../../chains/solana/sponsored.ts";
import {
  hexOfEither,
  messageOf,
  parseTransaction,
  requiredSigners,
  type SolanaTransaction,
  transactionOfMessage,
} from "../../chains/solana/transaction.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_SPONSORED_FEE_LAMPORTS, MAX_SPONSORED_RENT_LAMPORTS } from "../../kernel/limits.ts";
import { SigningRefused } from "./refused.ts";

/**
 * A message of Solana for which the installation pays: it must be the transaction of an activity that asks for that, byte for byte, with a
 * payer and what may be added, within the bounds of what one may cost. What follows from the message alone is looked at with the key
 * (`sponsor.ts`): who pays.
 */

const TYPES: readonly string[] = ["ACTIVITY_TYPE_SOL_SEND_TRANSACTION", "ACTIVITY_TYPE_SOL_SEND_TRANSACTION_V2"];

/** @throws SigningRefused for bytes that are no message */
function parseMessage(message: Uint8Array): SolanaTransaction {
  return orRefused("the sponsor signs messages of Solana alone", () => transactionOfMessage(message, "transaction"));
}

/** @throws SigningRefused where the message is not what becomes of the activity's transaction */
export function refuseOtherMessage(
  message: Uint8Array,
  { type, parameters }: { type: string; parameters: unknown },
): void {
  const { unsignedTransaction, recentBlockhash, sponsor } = (parameters ?? {}) as Record<string, unknown>;
  if (!TYPES.includes(type) || sponsor !== true || typeof unsignedTransaction !== "string") {
    throw new SigningRefused("the sponsor was asked for an activity that has nothing of Solana sponsored");
  }
  const signed = parseMessage(message);
  const why = "the sponsor was asked to sign another message than the activity's";
  const expected = orRefused(why, () => {
    const hex = hexOfEither(unsignedTransaction, "unsignedTransaction").replace(/^0x/i, "");
    const given = parseTransaction(Buffer.from(hex, "hex"), "unsignedTransaction");
    const [payer = ""] = requiredSigners(signed);
    return asSponsored(given, payer, signed.recentBlockhash, additionsIn(signed, given));
  });
  if (!Buffer.from(messageOf(expected)).equals(message)) throw new SigningRefused(why);
  if (typeof recentBlockhash === "string" && recentBlockhash !== "" && recentBlockhash !== signed.recentBlockhash) {
    throw new SigningRefused("the sponsor was asked to sign with another blockhash than the activity's");
  }
  const { fee, grants } = costOfSponsored(signed);
  if (fee > MAX_SPONSORED_FEE_LAMPORTS || grants > MAX_SPONSORED_RENT_LAMPORTS) {
    throw new SigningRefused(`the sponsor was asked to pay ${fee} and ${grants} lamports`);
  }
}

function orRefused<T>(why: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof KeysteadError || error instanceof RangeError) throw new SigningRefused(why);
    throw error;
  }
}
