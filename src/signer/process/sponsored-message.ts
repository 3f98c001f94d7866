import { additionsIn, asSponsored, costOfSponsored } from "../../chains/solana/sponsored.ts";
import {
  hexOfEither,
  messageOf,
  NO_BLOCKHASH,
  parseTransaction,
  requiredSigners,
  type SolanaTransaction,
  transactionOfMessage,
} from "../../chains/solana/transaction.ts";
import { termsOfQuote } from "../../crypto/swap-quotes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_SPONSORED_FEE_LAMPORTS, MAX_SPONSORED_RENT_LAMPORTS } from "../../kernel/limits.ts";
import { SigningRefused } from "./refused.ts";

/**
 * Checks of a Solana message for which the installation pays. It must equal, byte for byte, the transaction of an activity that asks for
 * sponsoring, or of the quote that the activity names, except for the payer and the permitted additions, and stay within the cost limits.
 * What follows from the message alone, namely who pays, is checked where the key is used (`sponsor.ts`).
 */

const SEND_TYPES: readonly string[] = ["ACTIVITY_TYPE_SOL_SEND_TRANSACTION", "ACTIVITY_TYPE_SOL_SEND_TRANSACTION_V2"];
export const SWAP_TYPE = "ACTIVITY_TYPE_EXECUTE_SWAP_V2";

/** An activity that has a transaction sponsored: the content of its body, and its plan, which is trusted only as far as the body confirms it. */
export interface Paid {
  type: string;
  organizationId: string;
  parameters: unknown;
  plan: unknown;
}

/** @throws SigningRefused if the bytes are not a message */
function parseMessage(message: Uint8Array): SolanaTransaction {
  return orRefused("the sponsor signs messages of Solana alone", () => transactionOfMessage(message, "transaction"));
}

/** The transaction that an activity wants sponsored; undefined if it wants none. */
function givenIn({ type, organizationId, parameters, plan }: Paid): (() => SolanaTransaction) | undefined {
  const { unsignedTransaction, quoteId, sponsor } = (parameters ?? {}) as Record<string, unknown>;
  if (sponsor !== true) return undefined;
  if (SEND_TYPES.includes(type) && typeof unsignedTransaction === "string") {
    return () => {
      const hex = hexOfEither(unsignedTransaction, "unsignedTransaction").replace(/^0x/i, "");
      return parseTransaction(Buffer.from(hex, "hex"), "unsignedTransaction");
    };
  }
  if (type !== SWAP_TYPE) return undefined;
  const terms = termsOfQuote(quoteId, ((plan ?? {}) as { terms?: unknown }).terms);
  const { message } = terms ?? {};
  if (terms?.organizationId !== organizationId || message === undefined) return undefined;
  return () => transactionOfMessage(Buffer.from(message, "hex"), "message");
}

/** @throws SigningRefused if the message does not result from the activity's transaction */
export function refuseOtherMessage(message: Uint8Array, paid: Paid): void {
  const givenOf = givenIn(paid);
  if (!givenOf) throw new SigningRefused("the activity has no sponsored Solana transaction");
  const { recentBlockhash } = paid.parameters as { recentBlockhash?: unknown };
  const signed = parseMessage(message);
  const why = "the sponsor was asked to sign another message than the activity's";
  const expected = orRefused(why, () => {
    const given = givenOf();
    const [payer = ""] = requiredSigners(signed);
    return asSponsored(given, payer, signed.recentBlockhash, additionsIn(signed, given));
  });
  if (!Buffer.from(messageOf(expected)).equals(message)) throw new SigningRefused(why);
  // Zeros leave the blockhash open, as does an absent one.
  const isNamed = typeof recentBlockhash === "string" && recentBlockhash !== "" && recentBlockhash !== NO_BLOCKHASH;
  if (isNamed && recentBlockhash !== signed.recentBlockhash) {
    throw new SigningRefused("the sponsor was asked to sign with another blockhash than the activity's");
  }
  const { fee, grants } = costOfSponsored(signed);
  if (fee > MAX_SPONSORED_FEE_LAMPORTS || grants > MAX_SPONSORED_RENT_LAMPORTS) {
    throw new SigningRefused(
      `the sponsor was asked to pay ${fee} lamports in fees and ${grants} in rent, which is more than it may`,
    );
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
