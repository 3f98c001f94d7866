import { MAX_URL_LENGTH } from "../kernel/limits.ts";

/**
 * The URLs of MoonPay's widget for buying. MoonPay requires a signature: an HMAC-SHA-256 of the URL's search part, including the question
 * mark, with the secret of the account that sends people there.
 */

/** The presets of a purchase, by MoonPay's own names. */
export interface MoonPayPurchase {
  /** The publishable key. */
  apiKey: string;
  currencyCode: string;
  walletAddress: string;
  baseCurrencyCode?: string;
  baseCurrencyAmount?: string;
  paymentMethod?: string;
  externalTransactionId: string;
}

/** In the order of the URL. */
const PARAMETERS = [
  "apiKey",
  "currencyCode",
  "walletAddress",
  "baseCurrencyCode",
  "baseCurrencyAmount",
  "paymentMethod",
  "externalTransactionId",
] as const satisfies readonly (keyof MoonPayPurchase)[];

export const moonPayHost = (sandbox: boolean): string => (sandbox ? "buy-sandbox.moonpay.com" : "buy.moonpay.com");

/** The page of a purchase, not signed yet. */
export function moonPayUrl(purchase: MoonPayPurchase, sandbox: boolean): URL {
  const url = new URL(`https://${moonPayHost(sandbox)}/`);
  for (const name of PARAMETERS) {
    const value = purchase[name];
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** A MoonPay URL that somebody else built; `problem` continues a sentence that begins with the field's name. */
export function parseMoonPayUrl(text: string, sandbox: boolean): { url: URL } | { problem: string } {
  if (text.length > MAX_URL_LENGTH) return { problem: `is longer than ${MAX_URL_LENGTH} characters` };
  const url = /^https:\/\/[a-z]/i.test(text) && !/[\s\\#]/.test(text) ? URL.parse(text) : null;
  if (url === null) return { problem: "must be an https URL without spaces, backslashes or a fragment" };
  const host = moonPayHost(sandbox);
  if (url.host !== host || url.username !== "" || url.password !== "") {
    return { problem: `must be a URL of https://${host}, as \`sandboxMode\` is ${sandbox}` };
  }
  if (url.search === "") return { problem: "must have a query: that is what is signed" };
  if (url.searchParams.has("signature")) return { problem: "must not have a `signature` yet" };
  return { url };
}

/** The URL with its signature, which comes last. */
export const withMoonPaySignature = (url: URL, signature: string): string =>
  `${url.href}&signature=${encodeURIComponent(signature)}`;
