import { createHash } from "node:crypto";
import { deriveSecret } from "../../crypto/hd-keys.ts";
import { parsePath, pathProblem } from "../../crypto/hd-path.ts";
import type { MnemonicLanguage } from "../../crypto/mnemonic-languages.ts";
import { languageOfMnemonic, mnemonicSeed, translateMnemonic } from "../../crypto/mnemonics.ts";
import type { AccountReference, Sealed } from "../protocol.ts";
import { publicKeyOf } from "./keys.ts";
import { withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";
import type { SecretCache } from "./secret-cache.ts";

/** A wallet as it is sealed: the mnemonic in UTF-8; then, if it has a passphrase (BIP-39), a line break and the passphrase. */
type WalletText = Uint8Array;

const LINE_BREAK = 0x0a;

/** A wallet of an organization, and how to open it. */
export interface WalletHandle {
  organizationId: string;
  organizationKey: Sealed;
  walletId: string;
  sealedWallet: Sealed;
  /** The caller wipes the result. */
  open(): WalletText;
}

/** Whether bytes are a wallet: UTF-8, with a valid mnemonic before the first line break. */
export function isWallet(text: WalletText): boolean {
  const { mnemonic, passphrase } = partsOf(text);
  try {
    decoded(passphrase);
    return languageOfMnemonic(decoded(mnemonic)) !== undefined;
  } catch {
    // Not UTF-8.
    return false;
  }
}

/**
 * The wallet in the words of `language`, with its passphrase. Words of another language than its own result in another seed. The caller
 * wipes it.
 */
export function walletInLanguage(text: WalletText, language: MnemonicLanguage): Buffer {
  const { mnemonic } = partsOf(text);
  const words = Buffer.from(translateMnemonic(decoded(mnemonic), language), "utf8");
  return withSecret(words, () => Buffer.concat([words, text.subarray(mnemonic.length)]));
}

/** The 64-byte seed of BIP-39. The caller wipes it. */
export function walletSeed(text: WalletText): Buffer {
  const { mnemonic, passphrase } = partsOf(text);
  return mnemonicSeed(mnemonic, passphrase);
}

/** In the order of the request, each in the form of `publicKeyOf`. */
export function accountPublicKeys(seed: Uint8Array, accounts: readonly AccountReference[]): string[] {
  return accounts.map((account) =>
    withSecret(accountSecret(seed, account), (secret) => publicKeyOf(account.curve, secret)),
  );
}

/**
 * Seeds and account keys that may be cached. Their cache names include everything that opening the wallet depends on. If a sealed wallet
 * was changed, moved or requested by another organization, it is opened and refused as if there were no cache.
 */
export function cachedSeed(cache: SecretCache, wallet: WalletHandle): Uint8Array {
  return cache.obtain(nameOf(wallet), () => withSecret(wallet.open(), walletSeed));
}

/** The secret of an account, and the name of its origin. The caller wipes the secret. */
export function cachedAccount(
  cache: SecretCache,
  wallet: WalletHandle,
  account: AccountReference,
): { secret: Uint8Array; origin: string } {
  const origin = `${nameOf(wallet)} ${account.curve} ${account.path}`;
  const secret = cache.obtain(origin, () =>
    withSecret(cachedSeed(cache, wallet), (seed) => accountSecret(seed, account)),
  );
  return { secret, origin };
}

/** The secret of an account. The caller wipes it. */
export function accountSecret(seed: Uint8Array, { curve, path }: AccountReference): Uint8Array {
  const problem = pathProblem(path);
  if (problem) throw new SigningRefused(`a derivation path ${problem}`);
  return deriveSecret(curve, seed, parsePath(path));
}

function nameOf({ organizationId, organizationKey, walletId, sealedWallet }: WalletHandle): string {
  const name = JSON.stringify([organizationId, organizationKey, walletId, sealedWallet]);
  return createHash("sha256").update(name).digest("base64");
}

function partsOf(text: WalletText): { mnemonic: Uint8Array; passphrase: Uint8Array } {
  const end = text.indexOf(LINE_BREAK);
  if (end < 0) return { mnemonic: text, passphrase: new Uint8Array() };
  return { mnemonic: text.subarray(0, end), passphrase: text.subarray(end + 1) };
}

/** @throws TypeError if the bytes are not UTF-8 */
function decoded(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}
