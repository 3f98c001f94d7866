import { createHash } from "node:crypto";
import { parseJsonOr } from "./json-object.ts";

/**
 * A swap quote is identified by the hash of its terms. A body that names a quote therefore names the signing account, so the signer can
 * check a request against a body that contains no key.
 */

const PREFIX = "sq_v1_";
export const QUOTE_ID = `^${PREFIX}[0-9a-f]{64}$`;

/** The terms of a quote, and a unique identifier. */
export interface QuoteTerms {
  organizationId: string;
  /** The account's address. */
  signWith: string;
  /** Both are CAIP-19; amounts are digits. */
  inputToken: string;
  outputToken: string;
  inputAmount: string;
  outputAmount: string;
  minOutputAmount: string;
  id: string;
  /** On Solana: the single message to sign, in hex, with zeros as blockhash. */
  message?: string;
}

export const quoteIdOf = (terms: string): string => `${PREFIX}${createHash("sha256").update(terms).digest("hex")}`;

/** The terms, if they match the identifier; otherwise undefined. */
export function termsOfQuote(quoteId: unknown, terms: unknown): QuoteTerms | undefined {
  if (typeof terms !== "string" || quoteIdOf(terms) !== quoteId) return undefined;
  return parseJsonOr(Buffer.from(terms), () => undefined) as QuoteTerms | undefined;
}
