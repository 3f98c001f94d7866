/** The on-ramp providers, the currencies they sell, and the payment methods they accept. */

export const onRampProviders = ["FIAT_ON_RAMP_PROVIDER_COINBASE", "FIAT_ON_RAMP_PROVIDER_MOONPAY"] as const;
export type OnRampProviderId = (typeof onRampProviders)[number];

/** MoonPay's codes for the currencies of each network. Coinbase uses the names themselves, with networks in lowercase. */
const moonPayCodes = {
  BITCOIN: { BTC: "btc" },
  ETHEREUM: { ETH: "eth", USDC: "usdc" },
  SOLANA: { SOL: "sol", USDC: "usdc_sol" },
  BASE: { ETH: "eth_base", USDC: "usdc_base" },
} as const satisfies Record<string, Partial<Record<OnRampCurrency, string>>>;

/** MoonPay's code for a currency on one of its networks. The currency must be sold there. */
export const moonPayCode = (network: OnRampNetwork, currency: OnRampCurrency): string =>
  (moonPayCodes[network] as Partial<Record<OnRampCurrency, string>>)[currency] as string;

export const onRampCurrencies = ["BTC", "ETH", "SOL", "USDC"] as const;
export type OnRampCurrency = (typeof onRampCurrencies)[number];
export type OnRampNetwork = keyof typeof moonPayCodes;
export const onRampNetworks = Object.keys(moonPayCodes) as OnRampNetwork[];

export const currenciesOn = (network: OnRampNetwork): OnRampCurrency[] =>
  Object.keys(moonPayCodes[network]) as OnRampCurrency[];

/** Payment methods, in the terms of the providers that accept them. */
const methods = {
  CREDIT_DEBIT_CARD: { coinbase: "CARD", moonpay: "credit_debit_card" },
  APPLE_PAY: { coinbase: "APPLE_PAY", moonpay: "apple_pay" },
  GBP_BANK_TRANSFER: { moonpay: "gbp_bank_transfer" },
  GBP_OPEN_BANKING_PAYMENT: { moonpay: "gbp_open_banking_payment" },
  GOOGLE_PAY: { moonpay: "google_pay" },
  SEPA_BANK_TRANSFER: { moonpay: "sepa_bank_transfer" },
  PIX_INSTANT_PAYMENT: { moonpay: "pix_instant_payment" },
  PAYPAL: { moonpay: "paypal" },
  VENMO: { moonpay: "venmo" },
  MOONPAY_BALANCE: { moonpay: "moonpay_balance" },
  CRYPTO_ACCOUNT: { coinbase: "CRYPTO_ACCOUNT" },
  FIAT_WALLET: { coinbase: "FIAT_WALLET" },
  ACH_BANK_ACCOUNT: { coinbase: "ACH_BANK_ACCOUNT" },
} as const;
export type OnRampPaymentMethod = keyof typeof methods;
export const onRampPaymentMethods = Object.keys(methods) as OnRampPaymentMethod[];

/** The provider's name for a payment method. Undefined if it does not accept it. */
export const methodAt = (provider: OnRampProviderId, method: OnRampPaymentMethod): string | undefined => {
  const words: { coinbase?: string; moonpay?: string } = methods[method];
  return provider === "FIAT_ON_RAMP_PROVIDER_COINBASE" ? words.coinbase : words.moonpay;
};

export const onRampFiatCurrencies = [
  "AUD",
  "BGN",
  "BRL",
  "CAD",
  "CHF",
  "COP",
  "CZK",
  "DKK",
  "DOP",
  "EGP",
  "EUR",
  "GBP",
  "HKD",
  "IDR",
  "ILS",
  "JOD",
  "KES",
  "KWD",
  "LKR",
  "MXN",
  "NGN",
  "NOK",
  "NZD",
  "OMR",
  "PEN",
  "PLN",
  "RON",
  "SEK",
  "THB",
  "TRY",
  "TWD",
  "USD",
  "VND",
  "ZAR",
] as const;
