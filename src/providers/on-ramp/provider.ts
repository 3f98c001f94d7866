import type { CoinbaseRequest } from "../../crypto/coinbase-requests.ts";
import { parseJsonOr } from "../../crypto/json-object.ts";
import type { MoonPayPurchase } from "../../crypto/moonpay-url.ts";
import type { OutboundAnswer, OutboundRequest } from "../../delivery/outbound.ts";
import type { OnRampCurrency, OnRampNetwork } from "./offers.ts";

/** What every provider that sells crypto for fiat is asked, and how it is known to have refused. */

/** What somebody is about to buy. */
export interface Purchase {
  /** Ours. */
  transactionId: string;
  walletAddress: string;
  network: OnRampNetwork;
  currency: OnRampCurrency;
  /** ISO 4217. */
  fiatCurrency?: string;
  /** A decimal number. */
  fiatAmount?: string;
  /** In the provider's words. */
  paymentMethod?: string;
  sandbox: boolean;
  /** A URL of MoonPay that the client put together. */
  urlForSignature?: string;
  /** The IP address of who asks. */
  clientAddress?: string;
}

/** A purchase that was begun, as what a provider knows is held against it. */
export interface BegunPurchase {
  /** Ours. */
  id: string;
  /** Null of what an earlier version began. */
  walletAddress: string | null;
}

/** PENDING until the provider knows more; what it knows may still change, but for COMPLETED. */
export const onRampStatuses = ["COMPLETED", "PENDING", "FAILED", "CANCELLED"] as const;
export type OnRampStatus = (typeof onRampStatuses)[number];

/** An organization's account at a provider. Its secrets stay elsewhere: what takes them is made there. */
export interface OnRampAccount {
  publishableApiKey: string;
  signUrl(of: { purchase: MoonPayPurchase } | { url: string }): Promise<{ url: string; signature: string }>;
  /** A bearer token for one request to this host. */
  authorize(host: string, request: CoinbaseRequest): Promise<string>;
}

/** Sends one request, within the bounds of everybody. */
export type Ask = (request: Pick<OutboundRequest, "method" | "url" | "headers" | "body">) => Promise<OutboundAnswer>;

export interface OnRampProvider {
  /** Where to send whoever buys; `signature` is that of the URL which the client gave. */
  begin(purchase: Purchase, account: OnRampAccount, ask: Ask): Promise<{ url: string; signature?: string }>;
  /** What became of a purchase that was begun. */
  statusOf(begun: BegunPurchase, account: OnRampAccount, ask: Ask): Promise<OnRampStatus>;
}

/** Why a provider did not do it. `message` says what it did, in words that may be shown. */
export class OnRampProblem extends Error {
  /** `account`: it does not take the keys; `purchase`: nor what was asked; `provider`: it gave no usable answer. */
  readonly of: "account" | "purchase" | "provider";

  constructor(of: OnRampProblem["of"], message: string) {
    super(message);
    this.name = "OnRampProblem";
    this.of = of;
  }
}

/**
 * The JSON of an answer of 200. Nothing of the text of any other is shown.
 *
 * @throws OnRampProblem
 */
export function jsonOf({ status, body, truncated }: OutboundAnswer): unknown {
  if (status === 401 || status === 403) throw new OnRampProblem("account", `it answered with the status ${status}`);
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    throw new OnRampProblem("purchase", `it answered with the status ${status}`);
  }
  if (status !== 200) throw new OnRampProblem("provider", `it answered with the status ${status}`);
  const refuse = (): never => {
    throw new OnRampProblem("provider", "it answered with something that is not JSON");
  };
  return truncated ? refuse() : parseJsonOr(body, refuse);
}

/** The objects of a list; undefined for what is none. */
export function objectsIn(value: unknown): Record<string, unknown>[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isObject = (each: unknown): each is Record<string, unknown> =>
    typeof each === "object" && each !== null && !Array.isArray(each);
  return value.every(isObject) ? value : undefined;
}

/**
 * Whether what a provider knows is of a purchase: it says whose it is, where that is said, and pays to its wallet. The first is not enough.
 * Pages take our name for a purchase from whoever opens them, and siblings use the same account.
 */
export const isOf = ({ id, walletAddress }: BegunPurchase, ref: unknown, paidTo: unknown): boolean =>
  (ref === undefined || ref === id) &&
  (walletAddress === null || typeof paidTo !== "string" || spelled(paidTo) === spelled(walletAddress));

/** Letter case says nothing in hex and bech32, and all in base58. */
const spelled = (address: string): string => (/^(0x|bc1|tb1)/i.test(address) ? address.toLowerCase() : address);

/** Of several tries at one purchase, the one that came furthest. */
export const furthestOf = (statuses: readonly OnRampStatus[]): OnRampStatus =>
  onRampStatuses.find((status) => statuses.includes(status)) ?? "PENDING";
