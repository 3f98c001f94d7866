import type { CoinbaseRequest } from "../../crypto/coinbase-requests.ts";
import { parseJsonOr } from "../../crypto/json-object.ts";
import type { MoonPayPurchase } from "../../crypto/moonpay-url.ts";
import type { OutboundAnswer, OutboundRequest } from "../../delivery/outbound.ts";
import type { OnRampCurrency, OnRampNetwork } from "./offers.ts";

/** The interface of providers that sell crypto for fiat, and their errors. */

/** A purchase to begin. */
export interface Purchase {
  /** This service's id for it. */
  transactionId: string;
  walletAddress: string;
  network: OnRampNetwork;
  currency: OnRampCurrency;
  /** ISO 4217. */
  fiatCurrency?: string;
  /** A decimal number, as text. */
  fiatAmount?: string;
  /** In the provider's terms. */
  paymentMethod?: string;
  sandbox: boolean;
  /** A URL of MoonPay that the client has composed. */
  urlForSignature?: string;
  /** The client's IP address. */
  clientAddress?: string;
}

/** A purchase that was begun, for comparison with a provider's records. */
export interface BegunPurchase {
  /** This service's id for it. */
  id: string;
  /** Null for purchases that an earlier version began. */
  walletAddress: string | null;
}

/** PENDING until the provider reports a status. A reported status may still change, except COMPLETED. */
export const onRampStatuses = ["COMPLETED", "PENDING", "FAILED", "CANCELLED"] as const;
export type OnRampStatus = (typeof onRampStatuses)[number];

/** An organization's account at a provider. Its secrets are not part of it; it makes whatever requires them. */
export interface OnRampAccount {
  publishableApiKey: string;
  signUrl(of: { purchase: MoonPayPurchase } | { url: string }): Promise<{ url: string; signature: string }>;
  /** A bearer token for one request to this host. */
  authorize(host: string, request: CoinbaseRequest): Promise<string>;
}

/** Sends one request, within the bounds for all of them. */
export type Ask = (request: Pick<OutboundRequest, "method" | "url" | "headers" | "body">) => Promise<OutboundAnswer>;

export interface OnRampProvider {
  /** The URL for the buyer. `signature` is the signature of the URL that the client gave. */
  begin(purchase: Purchase, account: OnRampAccount, ask: Ask): Promise<{ url: string; signature?: string }>;
  /** The status of a purchase that was begun. */
  statusOf(begun: BegunPurchase, account: OnRampAccount, ask: Ask): Promise<OnRampStatus>;
}

/** Why a provider failed. `message` describes what it did and may be shown. */
export class OnRampProblem extends Error {
  /** `account`: the provider rejected the keys; `purchase`: it rejected the purchase; `provider`: it gave no usable answer. */
  readonly of: "account" | "purchase" | "provider";

  constructor(of: OnRampProblem["of"], message: string) {
    super(message);
    this.name = "OnRampProblem";
    this.of = of;
  }
}

/**
 * The JSON of an answer with status 200. The text of any other answer is never shown.
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

/** The objects of a list. Undefined if it is not a list of objects. */
export function objectsIn(value: unknown): Record<string, unknown>[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isObject = (each: unknown): each is Record<string, unknown> =>
    typeof each === "object" && each !== null && !Array.isArray(each);
  return value.every(isObject) ? value : undefined;
}

/**
 * Whether a provider's record belongs to a purchase: it has the purchase's reference, if it has one, and pays to its wallet. The reference
 * is not enough, because whoever opens a provider's page can set it, and sub-organizations of the same parent share an account.
 */
export const isOf = ({ id, walletAddress }: BegunPurchase, ref: unknown, paidTo: unknown): boolean =>
  (ref === undefined || ref === id) &&
  (walletAddress === null || typeof paidTo !== "string" || spelled(paidTo) === spelled(walletAddress));

/** Hex and bech32 addresses are not case-sensitive; base58 addresses are. */
const spelled = (address: string): string => (/^(0x|bc1|tb1)/i.test(address) ? address.toLowerCase() : address);

/** The most advanced status among several attempts at one purchase. */
export const furthestOf = (statuses: readonly OnRampStatus[]): OnRampStatus =>
  onRampStatuses.find((status) => statuses.includes(status)) ?? "PENDING";
