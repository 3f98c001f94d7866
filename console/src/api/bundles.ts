import { readJson } from "./read-json.ts";

/**
 * What is closed for the signer, and opened from it, in the browser by the published package. Bundles of imports and exports are
 * believed where this installation's own key signed them.
 */

export interface ExportKey {
  /** Uncompressed, hex: what a bundle is closed for. */
  targetPublicKey: string;
  /** Hex. */
  privateKey: string;
  /** Whose bundles are believed, uncompressed hex: known before anything is exported. */
  signersKey: string;
}

const published = () => import("./published-crypto.ts");

/** What this installation signs bundles with, and what the secrets of others' accounts are closed for. */
type ServiceKey = "bundle" | "tlsFetcherEncrypt" | "onRamp";

/** The one of now, hex as it is published: from the server that this page came from. */
async function serviceKey(purpose: ServiceKey): Promise<string> {
  const { serviceKeys } = await readJson<{ serviceKeys: Partial<Record<ServiceKey, { publicKey: string }[]>> }>(
    "/.well-known/keystead.json",
  );
  const current = serviceKeys[purpose]?.[0];
  if (!current) throw new Error(`The server does not publish its key \`${purpose}\`.`);
  return current.publicKey;
}

const signersKey = (): Promise<string> => serviceKey("bundle");

/** A key pair for one export. */
export async function newExportKey(): Promise<ExportKey> {
  const { generateP256KeyPair } = await published();
  const { privateKey, publicKeyUncompressed } = generateP256KeyPair();
  return { targetPublicKey: publicKeyUncompressed, privateKey, signersKey: await signersKey() };
}

/** The secret phrase of a wallet. @throws Error where it is not this installation's, or not for this key */
export const phraseOf = (exportBundle: string, key: ExportKey, organizationId: string): Promise<string> =>
  opened(exportBundle, key, { organizationId, returnMnemonic: true });

export type KeyFormat = "HEXADECIMAL" | "SOLANA";

/** A private key: in hex, or with its public half in base58 as wallets of Solana take it. @throws Error as `phraseOf` */
export const privateKeyOf =
  (keyFormat: KeyFormat) =>
  (exportBundle: string, key: ExportKey, organizationId: string): Promise<string> =>
    opened(exportBundle, key, { organizationId, returnMnemonic: false, keyFormat });

async function opened(
  exportBundle: string,
  { privateKey: embeddedKey, signersKey: dangerouslyOverrideSignerPublicKey }: ExportKey,
  how: { organizationId: string; returnMnemonic: boolean; keyFormat?: KeyFormat },
): Promise<string> {
  const { decryptExportBundle } = await published();
  return decryptExportBundle({ exportBundle, embeddedKey, dangerouslyOverrideSignerPublicKey, ...how });
}

/** What an import is closed for. */
export interface ImportKey {
  importBundle: string;
  userId: string;
  organizationId: string;
}

/** Closes a secret phrase for the signer alone. @throws Error where the bundle is not this installation's, or not for this user */
export async function closedPhrase(mnemonic: string, key: ImportKey): Promise<string> {
  const { encryptWalletToBundle } = await published();
  return encryptWalletToBundle({ mnemonic, ...key, dangerouslyOverrideSignerPublicKey: await signersKey() });
}

/** The same for a private key: 64 hex digits, or what wallets of Solana export. */
export async function closedPrivateKey(privateKey: string, key: ImportKey): Promise<string> {
  const { encryptPrivateKeyToBundle } = await published();
  const keyFormat: KeyFormat = isHexKey(privateKey) ? "HEXADECIMAL" : "SOLANA";
  return encryptPrivateKeyToBundle({
    privateKey: keyFormat === "HEXADECIMAL" ? privateKey.replace(/^0x/i, "") : privateKey,
    keyFormat,
    ...key,
    dangerouslyOverrideSignerPublicKey: await signersKey(),
  });
}

/** Whether it has the form of a private key of 32 bytes. */
export const isHexKey = (text: string): boolean => /^(0x)?[0-9a-f]{64}$/i.test(text);

/** Closes the secret of an OAuth 2.0 client for the signer alone. */
export async function closedClientSecret(secret: string): Promise<string> {
  const { encryptOauth2ClientSecret } = await published();
  return encryptOauth2ClientSecret(secret, await serviceKey("tlsFetcherEncrypt"));
}

/** The same for a secret of an account where users buy crypto. */
export async function closedOnRampSecret(secret: string): Promise<string> {
  const { encryptOnRampSecret } = await published();
  return encryptOnRampSecret(secret, await serviceKey("onRamp"));
}
