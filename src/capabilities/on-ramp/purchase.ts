import { type Static, Type } from "typebox";
import { isBitcoinAddress, isEthereumAddress, isSolanaAddress } from "../../crypto/addresses/valid.ts";
import { parseMoonPayUrl } from "../../crypto/moonpay-url.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { inWords } from "../../kernel/in-words.ts";
import { MAX_URL_LENGTH } from "../../kernel/limits.ts";
import {
  currenciesOn,
  methodAt,
  moonPayCode,
  type OnRampCurrency,
  type OnRampNetwork,
  type OnRampPaymentMethod,
  onRampCurrencies,
  onRampFiatCurrencies,
  onRampNetworks,
  onRampPaymentMethods,
} from "../../providers/on-ramp/offers.ts";
import type { Purchase } from "../../providers/on-ramp/provider.ts";
import { Provider } from "./model.ts";

/** The purchase in a request, and the checks for what no provider would accept. */

const LEAST_FIAT = 20;

const NETWORK = "FIAT_ON_RAMP_BLOCKCHAIN_NETWORK_";
const CRYPTO = "FIAT_ON_RAMP_CRYPTO_CURRENCY_";
const FIAT = "FIAT_ON_RAMP_CURRENCY_";
const METHOD = "FIAT_ON_RAMP_PAYMENT_METHOD_";
const named = <const Prefix extends string, const Name extends string>(prefix: Prefix, names: readonly Name[]) =>
  names.map((name): `${Prefix}${Name}` => `${prefix}${name}`);
const nameIn = <Name extends string>(prefix: string, value: string): Name => value.slice(prefix.length) as Name;

export const PurchaseIntent = Strict({
  onrampProvider: Provider,
  walletAddress: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: "^[0-9A-Za-z]+$",
    description: "an address: letters and digits",
  }),
  network: OneOf(named(NETWORK, onRampNetworks)),
  cryptoCurrencyCode: OneOf(named(CRYPTO, onRampCurrencies)),
  fiatCurrencyCode: Type.Optional(OneOf(named(FIAT, onRampFiatCurrencies))),
  fiatCurrencyAmount: Type.Optional(
    Type.String({
      pattern: "^((0|[1-9][0-9]{0,8})(\\.[0-9]{1,2})?)?$",
      description: `a decimal number of more than ${LEAST_FIAT}, such as 100 or 99.50`,
    }),
  ),
  paymentMethod: Type.Optional(OneOf(named(METHOD, onRampPaymentMethods))),
  countryCode: Type.Optional(
    Type.String({ pattern: "^([A-Z]{2})?$", description: "two capital letters (ISO 3166-1), such as US" }),
  ),
  countrySubdivisionCode: Type.Optional(
    Type.String({
      pattern: "^([A-Z0-9]{1,3})?$",
      description: "the part of an ISO 3166-2 code after the country, such as NY",
    }),
  ),
  sandboxMode: Type.Optional(Type.Boolean()),
  urlForSignature: Type.Optional(Type.String({ maxLength: MAX_URL_LENGTH })),
});
export type PurchaseIntent = Static<typeof PurchaseIntent>;

/** @throws KeysteadError FIELD_MISSING or FIELD_INVALID */
export function checkPurchase(intent: PurchaseIntent): void {
  const { onrampProvider, network, cryptoCurrencyCode, paymentMethod, sandboxMode = false } = intent;
  const refuse = (name: keyof PurchaseIntent, reason: string): never =>
    fail("FIELD_INVALID", { field: `parameters.${name}`, reason });

  const [on, currency] = [nameIn<OnRampNetwork>(NETWORK, network), nameIn<OnRampCurrency>(CRYPTO, cryptoCurrencyCode)];
  if (!currenciesOn(on).includes(currency)) {
    refuse("cryptoCurrencyCode", `is not sold on ${network}, only ${inWords(named(CRYPTO, currenciesOn(on)))}`);
  }
  if (!isAddressOn(on, intent.walletAddress, sandboxMode)) refuse("walletAddress", `is not an address on ${network}`);
  if (paymentMethod !== undefined && methodOf(intent) === undefined) {
    const taken = onRampPaymentMethods.filter((method) => methodAt(onrampProvider, method) !== undefined);
    refuse("paymentMethod", `is not accepted by ${onrampProvider}, which accepts ${named(METHOD, taken).join(", ")}`);
  }
  if (intent.fiatCurrencyAmount && Number(intent.fiatCurrencyAmount) <= LEAST_FIAT) {
    refuse("fiatCurrencyAmount", `must be more than ${LEAST_FIAT}`);
  }
  if (intent.countryCode === "US" && !intent.countrySubdivisionCode) {
    fail("FIELD_MISSING", { field: "parameters.countrySubdivisionCode" });
  }
  if (intent.countrySubdivisionCode && !intent.countryCode) fail("FIELD_MISSING", { field: "parameters.countryCode" });
  if (!intent.urlForSignature) return;
  if (onrampProvider !== "FIAT_ON_RAMP_PROVIDER_MOONPAY") {
    refuse("urlForSignature", "is only for FIAT_ON_RAMP_PROVIDER_MOONPAY; leave it out");
  }
  const parsed = parseMoonPayUrl(intent.urlForSignature, sandboxMode);
  if ("problem" in parsed) fail("FIELD_INVALID", { field: "parameters.urlForSignature", reason: parsed.problem });
  const problem = problemOfPage(parsed.url, {
    walletAddress: intent.walletAddress,
    currencyCode: moonPayCode(on, currency),
  });
  if (problem) refuse("urlForSignature", problem);
}

/** Policies decide on the address and currency of the request, so the signed page must have the same ones. Returns the problem if it does not. */
function problemOfPage({ searchParams }: URL, wanted: Record<string, string>): string | undefined {
  if (searchParams.has("walletAddresses")) return "must not have `walletAddresses`";
  for (const [name, value] of Object.entries(wanted)) {
    const given = searchParams.getAll(name);
    if (given.length !== 1 || given[0] !== value) return `must have one \`${name}\`, that of the request: ${value}`;
  }
  return undefined;
}

/** The purchase in the form that a provider takes. */
export function purchaseOf(
  intent: PurchaseIntent,
  { transactionId, clientAddress }: { transactionId: string; clientAddress: string | undefined },
): Purchase {
  const { walletAddress, network, cryptoCurrencyCode, fiatCurrencyCode, fiatCurrencyAmount, urlForSignature } = intent;
  const paymentMethod = methodOf(intent);
  return {
    transactionId,
    walletAddress,
    network: nameIn<OnRampNetwork>(NETWORK, network),
    currency: nameIn<OnRampCurrency>(CRYPTO, cryptoCurrencyCode),
    sandbox: intent.sandboxMode ?? false,
    ...(fiatCurrencyCode === undefined ? {} : { fiatCurrency: nameIn(FIAT, fiatCurrencyCode) }),
    ...(fiatCurrencyAmount ? { fiatAmount: fiatCurrencyAmount } : {}),
    ...(paymentMethod === undefined ? {} : { paymentMethod }),
    ...(urlForSignature ? { urlForSignature } : {}),
    ...(clientAddress === undefined ? {} : { clientAddress }),
  };
}

const methodOf = ({ onrampProvider, paymentMethod }: PurchaseIntent): string | undefined =>
  paymentMethod && methodAt(onrampProvider, nameIn<OnRampPaymentMethod>(METHOD, paymentMethod));

/** Whether this is an address of the network: money paid for another network's address or a mistyped one is lost. Sandboxes use test networks. */
function isAddressOn(network: OnRampNetwork, text: string, isTest: boolean): boolean {
  switch (network) {
    case "ETHEREUM":
    case "BASE":
      return isEthereumAddress(text);
    case "SOLANA":
      return isSolanaAddress(text);
    case "BITCOIN":
      return isBitcoinAddress(text, { isTest });
  }
}
