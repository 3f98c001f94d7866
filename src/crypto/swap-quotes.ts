import { createHash } from "node:crypto";
import { parseJsonOr } from "./json-object.ts";

/**
 * What a swap quote is called: by the hash of its terms. Whoever names a quote names the account that signs, so that the signer can hold
 * a request against a body in which no key stands.
 */

const PREFIX = "sq_v1_";
export const QUOTE_ID = `^${PREFIX}[0-9a-f]{64}$`;

/** What a quote is about, and an identifier that makes it one of its kind. */
export interface QuoteTerms {
  organizationId: string;
  /** The account's address. */
  signWith: string;
  /** CAIP-19, both, and amounts in digits. */
  inputToken: string;
  outputToken: string;
  inputAmount: string;
  outputAmount: string;
  minOutputAmount: string;
  id: string;
  /** On Solana: the one message that is signed for it, in hex, with zeros for a blockhash. */
  message?: string;
}

export const quoteIdOf = (terms: string): string => `${PREFIX}${createHash("sha256").update(terms).digest("hex")}`;

/** The terms that an identifier stands for; undefined where it stands for others. */
export function termsOfQuote(quoteId: unknown, terms: unknown): QuoteTerms | undefined {
  if (typeof terms !== "string" || quoteIdOf(terms) !== quoteId) return undefined;
  return parseJsonOr(Buffer.from(terms), () => undefined) as QuoteTerms | undefined;
}
