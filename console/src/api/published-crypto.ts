/** The published package of bundles, in a chunk of its own. */
export {
  decryptExportBundle,
  encryptOauth2ClientSecret,
  encryptOnRampSecret,
  encryptPrivateKeyToBundle,
  encryptWalletToBundle,
  generateP256KeyPair,
} from "@turnkey/crypto";
