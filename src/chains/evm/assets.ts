import { withChecksum } from "../../crypto/addresses/ethereum.ts";
import { SOL, solanaStablecoins, splTokenId } from "../solana/assets.ts";
import { isSolanaChain, type SolanaChain } from "../solana/networks.ts";
import type { EvmChain } from "./networks.ts";

type Chain = EvmChain | SolanaChain;

/** The valuable assets of a chain: its native asset, and the tokens that this installation knows. */

/** A token, as its contract describes itself. */
export interface Token {
  /** 0x and 40 hex digits in any case; on Solana, the mint. */
  address: string;
  symbol: string;
  name: string;
  decimals: number;
  /** Whether it is worth one unit of a currency; false if absent. */
  stable?: boolean;
}

export interface Asset {
  /** CAIP-19; token addresses in it have the checksum of EIP-55. */
  caip19: string;
  symbol: string;
  name: string;
  decimals: number;
  /** The token's contract in lowercase, or its mint; null for the native asset. */
  token: string | null;
  /** Whether it is worth one unit of a currency. */
  isStable: boolean;
}

/** The assets of each chain and their prices. */
export interface AssetBook {
  /** The native asset comes first. */
  assetsOf(chain: Chain): readonly Asset[];
  /** The asset of a token's contract in lowercase or of its mint, or the native one for null; undefined if it is not known. */
  assetOf(chain: Chain, token: string | null): Asset | undefined;
  /** The price of one whole unit in US dollars, as the operator wrote it. */
  priceOf(caip19: string): string | undefined;
}

const ETHER = { coinType: 60, symbol: "ETH", name: "Ether" };
const POL = { coinType: 966, symbol: "POL", name: "POL" };
const BNB = { coinType: 714, symbol: "BNB", name: "BNB" };
const MON = { coinType: 268_435_779, symbol: "MON", name: "Monad" };

/** Identified by the coin types of SLIP-44; test networks have that of their main network. All have 18 decimals; Tempo has no native asset. */
const natives: Record<EvmChain, typeof ETHER | undefined> = {
  "eip155:1": ETHER,
  "eip155:11155111": ETHER,
  "eip155:8453": ETHER,
  "eip155:84532": ETHER,
  "eip155:137": POL,
  "eip155:80002": POL,
  "eip155:56": BNB,
  "eip155:97": BNB,
  "eip155:10": ETHER,
  "eip155:11155420": ETHER,
  "eip155:143": MON,
  "eip155:10143": MON,
  "eip155:42161": ETHER,
  "eip155:4217": undefined,
  "eip155:42431": undefined,
  "eip155:421614": ETHER,
};

const usdc = (address: string, decimals = 6): Token => ({ address, symbol: "USDC", name: "USD Coin", decimals });
const usdt = (address: string, decimals = 6): Token => ({ address, symbol: "USDT", name: "Tether USD", decimals });
const dai = (address: string): Token => ({ address, symbol: "DAI", name: "Dai Stablecoin", decimals: 18 });
const pathUsd: Token = {
  address: "0x20C0000000000000000000000000000000000000",
  symbol: "pathUSD",
  name: "pathUSD",
  decimals: 6,
};

/** The best-known stablecoins, at the addresses that their issuers publish. */
const stablecoins: Partial<Record<EvmChain, readonly Token[]>> = {
  "eip155:1": [
    usdc("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    usdt("0xdAC17F958D2ee523a2206206994597C13D831ec7"),
    dai("0x6B175474E89094C44Da98b954EedeAC495271d0F"),
  ],
  "eip155:11155111": [usdc("0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238")],
  "eip155:8453": [usdc("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")],
  "eip155:84532": [usdc("0x036CbD53842c5426634e7929541eC2318f3dCF7e")],
  "eip155:137": [
    usdc("0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
    usdt("0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
  ],
  "eip155:80002": [usdc("0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582")],
  "eip155:56": [
    usdc("0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
    usdt("0x55d398326f99059fF775485246999027B3197955", 18),
  ],
  "eip155:10": [
    usdc("0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
    usdt("0x94b008aA00579c1307B0EF2c499aD98a8ce58e58"),
    dai("0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"),
  ],
  "eip155:11155420": [usdc("0x5fd84259d66Cd46123540766Be93DFE6D43130D7")],
  "eip155:143": [usdc("0x754704Bc059F8C67012fEd69BC8A327a5aafb603")],
  "eip155:10143": [usdc("0x534b2f3A21130d7a60830c2Df862319e593943A3")],
  "eip155:42161": [
    usdc("0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
    usdt("0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
    dai("0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"),
  ],
  "eip155:421614": [usdc("0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d")],
  "eip155:4217": [pathUsd],
  "eip155:42431": [pathUsd],
};

/** The built-in assets and those that the operator configures, which override built-in ones with the same address. */
export function createAssetBook(
  own: Partial<Record<Chain, readonly Token[]>>,
  prices: Readonly<Record<string, string>>,
): AssetBook {
  const lists = new Map<Chain, Map<string | null, Asset>>();
  const byToken = (chain: Chain): Map<string | null, Asset> => {
    const known = lists.get(chain);
    if (known) return known;
    const made = new Map(allAssets(chain, own[chain] ?? []).map((asset) => [asset.token, asset]));
    lists.set(chain, made);
    return made;
  };
  const priceByAsset = new Map(Object.entries(prices).map(([caip19, price]) => [caip19.toLowerCase(), price]));
  return {
    assetsOf: (chain) => [...byToken(chain).values()],
    assetOf: (chain, token) => byToken(chain).get(token),
    priceOf: (caip19) => priceByAsset.get(caip19.toLowerCase()),
  };
}

function allAssets(chain: Chain, own: readonly Token[]): Asset[] {
  const native = isSolanaChain(chain) ? SOL : natives[chain];
  const known = isSolanaChain(chain) ? solanaStablecoins[chain] : (stablecoins[chain] ?? []);
  const builtIn = known.map((token) => assetOfToken(chain, token, true));
  return [
    ...(native ? [nativeAsset(chain, native)] : []),
    ...builtIn,
    ...own.map((token) => assetOfToken(chain, token, token.stable ?? false)),
  ];
}

const nativeAsset = (
  chain: Chain,
  { coinType, symbol, name, decimals = 18 }: typeof ETHER & { decimals?: number },
): Asset => ({
  caip19: `${chain}/slip44:${coinType}`,
  symbol,
  name,
  decimals,
  token: null,
  isStable: false,
});

const assetOfToken = (chain: Chain, { address, symbol, name, decimals }: Token, isStable: boolean): Asset => ({
  caip19: tokenId(chain, address),
  symbol,
  name,
  decimals,
  token: isSolanaChain(chain) ? address : address.toLowerCase(),
  isStable,
});

/** CAIP-19 of any token, known or not. */
export const tokenId = (chain: Chain, address: string): string =>
  isSolanaChain(chain) ? splTokenId(chain, address) : `${chain}/erc20:${withChecksum(address)}`;

/** An amount in atomic units in human-readable form: `1500000` with 6 decimals is `1.5`. */
export function wholeUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return rest === "" ? whole : `${whole}.${rest}`;
}

/** The value of an amount at a price per whole unit, such as `2000.00`: rounded to the cent, half a cent up. */
export function worthOf(amount: bigint, decimals: number, price: string): string {
  const [whole = "", rest = ""] = price.split(".");
  const scale = 10n ** BigInt(decimals + rest.length);
  const cents = (amount * BigInt(whole + rest) * 200n + scale) / (2n * scale);
  const digits = cents.toString().padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
