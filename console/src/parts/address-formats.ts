import type { ParametersOf } from "../api/api.ts";
import { wordsOf } from "./texts.tsx";

/** The address formats of the API: on which curve, and where wallets of their chain usually keep the first account. */

export type AccountParameters = ParametersOf<"create_wallet">["accounts"][number];
export type AddressFormat = AccountParameters["addressFormat"];
type Curve = AccountParameters["curve"];

/** `*` stands for the number of the account. */
type Usual = [curve: Curve, path: string];
const secp = (path: string): Usual => ["CURVE_SECP256K1", path];
const edwards = (path: string): Usual => ["CURVE_ED25519", path];

const USUAL: Record<AddressFormat, Usual> = {
  ADDRESS_FORMAT_ETHEREUM: secp("m/44'/60'/0'/0/*"),
  ADDRESS_FORMAT_SOLANA: edwards("m/44'/501'/*'/0'"),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH: secp("m/84'/0'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR: secp("m/86'/0'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2PKH: secp("m/44'/0'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2SH: secp("m/49'/0'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WSH: secp("m/48'/0'/0'/2'/0/*"),
  ADDRESS_FORMAT_TRON: secp("m/44'/195'/0'/0/*"),
  ADDRESS_FORMAT_COSMOS: secp("m/44'/118'/0'/0/*"),
  ADDRESS_FORMAT_SEI: secp("m/44'/118'/0'/0/*"),
  ADDRESS_FORMAT_SUI: edwards("m/44'/784'/*'/0'/0'"),
  ADDRESS_FORMAT_APTOS: edwards("m/44'/637'/*'/0'/0'"),
  ADDRESS_FORMAT_XLM: edwards("m/44'/148'/*'"),
  ADDRESS_FORMAT_XRP: secp("m/44'/144'/0'/0/*"),
  ADDRESS_FORMAT_DOGE_MAINNET: secp("m/44'/3'/0'/0/*"),
  ADDRESS_FORMAT_DOGE_TESTNET: secp("m/44'/1'/0'/0/*"),
  ADDRESS_FORMAT_TON_V3R2: edwards("m/44'/607'/*'"),
  ADDRESS_FORMAT_TON_V4R2: edwards("m/44'/607'/*'"),
  ADDRESS_FORMAT_TON_V5R1: edwards("m/44'/607'/*'"),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2PKH: secp("m/44'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2SH: secp("m/49'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH: secp("m/84'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WSH: secp("m/48'/1'/0'/2'/0/*"),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2TR: secp("m/86'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2PKH: secp("m/44'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2SH: secp("m/49'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WPKH: secp("m/84'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WSH: secp("m/48'/1'/0'/2'/0/*"),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2TR: secp("m/86'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2PKH: secp("m/44'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2SH: secp("m/49'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WPKH: secp("m/84'/1'/0'/0/*"),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WSH: secp("m/48'/1'/0'/2'/0/*"),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2TR: secp("m/86'/1'/0'/0/*"),
  ADDRESS_FORMAT_SPARK_MAINNET: secp("m/8797555'/*'/0'"),
  ADDRESS_FORMAT_SPARK_REGTEST: secp("m/8797555'/*'/0'"),
  ADDRESS_FORMAT_COMPRESSED: secp("m/44'/60'/0'/0/*"),
  ADDRESS_FORMAT_UNCOMPRESSED: secp("m/44'/60'/0'/0/*"),
};

export const formatWords = (format: AddressFormat): string => wordsOf(format, "ADDRESS_FORMAT_");

export const FORMAT_OPTIONS = (Object.keys(USUAL) as AddressFormat[]).map((value) => ({
  value,
  label: formatWords(value),
}));

export const curveOf = (format: AddressFormat): Curve => USUAL[format][0];

/** The usual place of an account, counted from 0. */
export const usualPath = (format: AddressFormat, account: number): string =>
  USUAL[format][1].replace("*", String(account));

/** @param name none where it is empty */
export const accountAt = (addressFormat: AddressFormat, path: string, name = ""): AccountParameters => ({
  curve: curveOf(addressFormat),
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat,
  ...(name === "" ? {} : { name }),
});

/** What a wallet begins with unless somebody chooses otherwise. */
export const FIRST_FORMATS: AddressFormat[] = ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_SOLANA"];
