import { type Static, Type } from "typebox";
import { ADDRESS_FORMATS, type AddressFormat, addressFormatProblem } from "../../crypto/addresses.ts";
import { pathProblem } from "../../crypto/hd-path.ts";
import { MNEMONIC_LENGTHS, type MnemonicLength } from "../../crypto/mnemonic-languages.ts";
import { Label, List, noExternalSigner, OneOf, Strict, Timestamp } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ACCOUNTS_PER_REQUEST } from "../../kernel/limits.ts";
import { curves } from "../private-keys/model.ts";

const PathFormat = OneOf(["PATH_FORMAT_BIP32"]);
const Format = OneOf(ADDRESS_FORMATS);

const AccountParams = Strict({
  curve: OneOf(curves),
  pathFormat: PathFormat,
  path: Type.String({ minLength: 1, maxLength: 255 }),
  addressFormat: Format,
  name: Type.Optional(Label),
});
export type AccountParams = Static<typeof AccountParams>;
export const AccountsParams = List(AccountParams, MAX_ACCOUNTS_PER_REQUEST);

/** A wallet to create from a new mnemonic. */
export const WalletParams = Strict({
  walletName: Label,
  accounts: AccountsParams,
  mnemonicLength: Type.Optional(Type.Integer()),
  ...noExternalSigner,
});
export type WalletParams = Static<typeof WalletParams>;

const DEFAULT_MNEMONIC_LENGTH = 12;

export const mnemonicLengthOf = ({ mnemonicLength = DEFAULT_MNEMONIC_LENGTH }: WalletParams): MnemonicLength =>
  mnemonicLength as MnemonicLength;

/** The result for a new wallet; the addresses are in the order of the accounts. */
export const WalletResult = Type.Object({ walletId: Type.String(), addresses: Type.Array(Type.String()) });

export const Wallet = Type.Object(
  {
    walletId: Type.String(),
    walletName: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    exported: Type.Boolean(),
    imported: Type.Boolean(),
  },
  { $id: "Wallet" },
);
export type Wallet = Static<typeof Wallet>;

export const WalletAccount = Type.Object(
  {
    walletAccountId: Type.String(),
    organizationId: Type.String(),
    walletId: Type.String(),
    curve: OneOf(curves),
    pathFormat: PathFormat,
    path: Type.String(),
    addressFormat: Format,
    address: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    publicKey: Type.Optional(Type.String()),
    walletDetails: Type.Optional(Wallet),
    name: Type.Optional(Type.String()),
    caip2Prefix: Type.Optional(Type.String()),
  },
  { $id: "WalletAccount" },
);
export type WalletAccount = Static<typeof WalletAccount>;

/** The CAIP-2 namespace of an address format, if it has one. */
export const caip2PrefixOf = (format: AddressFormat): string | undefined =>
  ({ ADDRESS_FORMAT_ETHEREUM: "eip155", ADDRESS_FORMAT_SOLANA: "solana" })[format as string];

/** @throws KeysteadError naming the first invalid field of a new wallet */
export function checkWallet(params: WalletParams, field: string): void {
  const { mnemonicLength = DEFAULT_MNEMONIC_LENGTH } = params;
  if (!(MNEMONIC_LENGTHS as readonly number[]).includes(mnemonicLength)) {
    fail("FIELD_INVALID", {
      field: `${field}.mnemonicLength`,
      reason: `must be one of ${MNEMONIC_LENGTHS.join(", ")}`,
    });
  }
  checkAccounts(params.accounts, `${field}.accounts`);
}

/** @throws KeysteadError naming the first account whose path or address format is invalid or that repeats another */
export function checkAccounts(accounts: readonly AccountParams[], field: string): void {
  const seen = new Set<string>();
  for (const [index, { curve, path, addressFormat }] of accounts.entries()) {
    const at = `${field}.${index}`;
    const problem = pathProblem(path);
    if (problem) fail("WALLET_PATH_INVALID", { field: `${at}.path`, reason: problem });
    const formatProblem = addressFormatProblem(addressFormat, curve);
    if (formatProblem) fail("FIELD_INVALID", { field: `${at}.addressFormat`, reason: formatProblem });
    const key = `${curve} ${path} ${addressFormat}`;
    if (seen.has(key)) fail("FIELD_INVALID", { field: at, reason: "occurs twice" });
    seen.add(key);
  }
}
