import { randomBytes } from "node:crypto";
import { deriveAddress } from "../../crypto/addresses.ts";
import { generateReceiver } from "../../crypto/hpke.ts";
import { generateMnemonic } from "../../crypto/mnemonics.ts";
import { normalizeCode } from "../../crypto/one-time-codes.ts";
import { openQuorumEnvelope } from "../../crypto/quorum-encryption.ts";
import { secp256k1Problem } from "../../crypto/secp256k1.ts";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { MAX_MNEMONIC_BYTES, MAX_OTP_BUNDLE_BYTES, MAX_SECRET_BYTES } from "../../kernel/limits.ts";
import {
  type AccountReference,
  type Curve,
  INSTALLATION,
  type KeyReference,
  type OpenRequest,
  PROTOCOL_VERSION,
  type Responses,
  type Sealed,
  type SignerRequest,
} from "../protocol.ts";
import { describeCode } from "./code.ts";
import { addressPayload, ephemeralKeys, outcomePayload } from "./ephemeral.ts";
import { type ImportKey, openImport, sealExport } from "./imports-exports.ts";
import { generateSecret, hasAddress, isSecret, type OpenKey, publicKeyOf } from "./keys.ts";
import type { Use } from "./occasion.ts";
import { type Organization, organizationContext, withOrganization, withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";
import { openRootKey, rootKeyId } from "./root-key.ts";
import { seal } from "./seal.ts";
import { secretCache } from "./secret-cache.ts";
import { signPayload } from "./sign.ts";
import { useRecorder } from "./uses.ts";
import {
  accountPublicKeys,
  cachedAccount,
  cachedSeed,
  isWallet,
  type WalletHandle,
  walletInLanguage,
  walletSeed,
} from "./wallets.ts";

/** The root key is not open. */
export class RootKeySealed extends Error {}

const ephemeral = ephemeralKeys();
/** Read at the start, when the files are those that were loaded. */
const code = describeCode();
let rootKey: Buffer | undefined;
let secrets = secretCache({ entries: 0, lifetimeMs: 0 });
/** Tells the operator of a use of keys, if that is wanted. */
export let recordUse: (use: Use) => void = () => {};

const verbs: { [Verb in SignerRequest["verb"]]: (request: Extract<SignerRequest, { verb: Verb }>) => Responses[Verb] } =
  {
    open,

    createOrganizationKey({ organizationId }) {
      const context = organizationContext(organizationId);
      return withSecret(randomBytes(32), (key) => ({ organizationKey: seal(openedRootKey(), context, key) }));
    },

    generateKeys: ({ keys, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) => ({
        keys: keys.map(({ keyId, curve }) =>
          withSecret(generateSecret(curve), (secret) => storedKey(organization, keyId, curve, secret)),
        ),
      })),

    sign: ({ key, scheme, hash, payloads, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withKey(organization, key, (open) => ({
          signatures: payloads.map((payload) => signPayload(open, hash, Buffer.from(payload, "base64"), scheme)),
        })),
      ),

    createWallet: ({ walletId, mnemonicLength, accounts, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(Buffer.from(generateMnemonic(mnemonicLength), "utf8"), (wallet) =>
          storedWallet(organization, walletId, wallet, accounts),
        ),
      ),

    deriveAccounts: ({ walletId, sealedWallet, accounts, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(cachedSeed(secrets, walletOf(organization, walletId, sealedWallet)), (seed) => ({
          publicKeys: accountPublicKeys(seed, accounts),
        })),
      ),

    createImportKeys: ({ importIds, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) => ({
        importKeys: importIds.map((importId) => {
          const { secret, publicKey } = generateReceiver();
          return withSecret(secret, () => ({
            sealedImportKey: organization.seal(["import key", importId], secret),
            targetPublicKey: toHex(publicKey),
          }));
        }),
      })),

    importWallet: ({ importKeys, bundle, walletId, accounts, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        openImport(importKeysOf(organization, importKeys), bundle, MAX_MNEMONIC_BYTES, (wallet) =>
          isWallet(wallet) ? storedWallet(organization, walletId, wallet, accounts) : "invalidMnemonic",
        ),
      ),

    importPrivateKey: ({ importKeys, bundle, keyId, curve, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        openImport(importKeysOf(organization, importKeys), bundle, MAX_MNEMONIC_BYTES, (secret) =>
          isSecret(curve, secret) ? storedKey(organization, keyId, curve, secret) : "invalidKey",
        ),
      ),

    importSecret: ({ importKeys, bundle, secretId, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        openImport(importKeysOf(organization, importKeys), bundle, MAX_SECRET_BYTES, (secret) => ({
          sealedSecret: organization.seal(["secret", secretId], secret),
        })),
      ),

    exportWallet: ({ walletId, sealedWallet, language, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(walletOf(organization, walletId, sealedWallet).open(), (wallet) =>
          language === undefined
            ? sealExport(targetPublicKey, wallet)
            : withSecret(walletInLanguage(wallet, language), (words) => sealExport(targetPublicKey, words)),
        ),
      ),

    exportKey: ({ key, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withKey(organization, key, ({ secret }) => sealExport(targetPublicKey, secret)),
      ),

    exportSecret: ({ secretId, sealedSecret, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(organization.open(["secret", secretId], sealedSecret), (secret) =>
          sealExport(targetPublicKey, secret),
        ),
      ),

    issueCredential: ({ targetPublicKey }) =>
      withSecret(generateSecret("CURVE_P256"), (secret) => ({
        publicKey: publicKeyOf("CURVE_P256", secret),
        message: sealExport(targetPublicKey, secret),
      })),

    macOtp: ({ otpId, code, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) => ({ mac: macOfCode(organization, otpId, code) })),

    openOtp: ({ otpId, sealedTargetKey, bundle, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) => {
        const target = { importId: otpId, open: () => organization.open(["import key", otpId], sealedTargetKey) };
        const opened = openImport([target], bundle, MAX_OTP_BUNDLE_BYTES, (plaintext) => {
          const guess = guessIn(plaintext);
          return guess ? { mac: macOfCode(organization, otpId, guess.code), publicKey: guess.publicKey } : "invalidKey";
        });
        if (!("problem" in opened)) return { mac: opened.mac, publicKey: opened.publicKey };
        return { problem: opened.problem === "invalidKey" ? "malformed" : "undecryptable" };
      }),

    sealJobSecret: ({ secretId, jobKind, secret, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(Buffer.from(secret, "base64"), (plain) => ({
          sealed: organization.seal(["job secret", secretId, jobKind], plain),
        })),
      ),

    openJobSecret: ({ secretId, jobKind, sealed, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(organization.open(["job secret", secretId, jobKind], sealed), (plain) => ({
          secret: plain.toString("base64"),
        })),
      ),

    importClientSecret: ({ credentialId, envelope, installationKey, keys, ...owner }) => {
      const installation = { organizationId: INSTALLATION, organizationKey: installationKey };
      const plaintext = withOrganization(openedRootKey(), installation, (service) =>
        openWithFirst(service, keys, Buffer.from(envelope, "base64")),
      );
      if (!plaintext) return { problem: "undecryptable" };
      return withSecret(plaintext, () =>
        withOrganization(openedRootKey(), owner, (organization) => ({
          sealedClientSecret: organization.seal(["client secret", credentialId], plaintext),
        })),
      );
    },

    openClientSecret: ({ credentialId, sealedClientSecret, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) =>
        withSecret(organization.open(["client secret", credentialId], sealedClientSecret), (plain) => ({
          clientSecret: plain.toString("base64"),
        })),
      ),

    describe: () => ({
      ephemeralPublicKey: ephemeral.publicKey,
      startedAt: ephemeral.startedAt,
      protocolVersion: PROTOCOL_VERSION,
      ...code,
    }),

    proveAddresses: ({ addresses, ...owner }) =>
      withOrganization(openedRootKey(), owner, (organization) => ({
        ephemeralPublicKey: ephemeral.publicKey,
        proofs: addresses.map(({ key, format }) => {
          const publicKey = withKey(organization, key, ({ curve, secret }) => publicKeyOf(curve, secret));
          const address = deriveAddress(format, key.curve, Buffer.from(publicKey, "hex"));
          return ephemeral.sign(addressPayload(organization.organizationId, key, address, Date.now()));
        }),
      })),

    provePolicyOutcome({ timestampMs, policyOutcome }) {
      openedRootKey();
      const proof = ephemeral.sign(outcomePayload(policyOutcome, timestampMs));
      return { ephemeralPublicKey: ephemeral.publicKey, proof };
    },
  };

function open({
  protocolVersion,
  rootKeyFile,
  passphrase,
  mayCreate,
  seedCache,
  recordUses,
}: OpenRequest): Responses["open"] {
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new SigningRefused(
      `the server speaks version ${protocolVersion} of the protocol, the signer ${PROTOCOL_VERSION}`,
    );
  }
  if (secp256k1Problem !== undefined) throw new SigningRefused(secp256k1Problem);
  const outcome = openRootKey(rootKeyFile, passphrase, mayCreate);
  if (outcome.state === "sealed") return { state: "sealed" };
  rootKey = outcome.rootKey;
  secrets = secretCache(seedCache);
  if (recordUses) recordUse = useRecorder((text) => void process.stderr.write(text));
  return { state: "open", rootKeyId: rootKeyId(outcome.rootKey), created: outcome.created };
}

function openedRootKey(): Buffer {
  if (!rootKey) throw new RootKeySealed("the root key is sealed");
  return rootKey;
}

function storedKey(
  organization: Organization,
  keyId: string,
  curve: Curve,
  secret: Uint8Array,
): { sealedKey: Sealed; publicKey: string } {
  return { sealedKey: organization.seal(["key", keyId, curve], secret), publicKey: publicKeyOf(curve, secret) };
}

function storedWallet(
  organization: Organization,
  walletId: string,
  wallet: Uint8Array,
  accounts: readonly AccountReference[],
): { sealedWallet: Sealed; publicKeys: string[] } {
  const publicKeys = withSecret(walletSeed(wallet), (seed) => accountPublicKeys(seed, accounts));
  return { sealedWallet: organization.seal(["wallet", walletId], wallet), publicKeys };
}

function walletOf(organization: Organization, walletId: string, sealedWallet: Sealed): WalletHandle {
  const { organizationId, organizationKey } = organization;
  const open = () => organization.open(["wallet", walletId], sealedWallet);
  return { organizationId, organizationKey, walletId, sealedWallet, open };
}

/** @throws SigningRefused when the key was named by an address that is not its own */
function withKey<T>(organization: Organization, key: KeyReference, use: (key: OpenKey) => T): T {
  return withOpenKey(organization, key, (open) => {
    if (key.address === undefined || hasAddress(open, key.address)) return use(open);
    throw new SigningRefused("the address is not that of the key");
  });
}

function withOpenKey<T>(organization: Organization, key: KeyReference, use: (key: OpenKey) => T): T {
  const { curve } = key;
  if (key.kind === "privateKey") {
    const { keyId, sealedKey } = key;
    const stored = organization.open(["key", keyId, curve], sealedKey);
    return withSecret(stored, (secret) => use({ curve, secret, origin: sealedKey }));
  }
  const wallet = walletOf(organization, key.walletId, key.sealedWallet);
  const account = cachedAccount(secrets, wallet, { curve, path: key.path });
  return withSecret(account.secret, (secret) => use({ curve, secret, origin: account.origin }));
}

const macOfCode = (organization: Organization, otpId: string, code: string): string =>
  organization.mac("one-time code", otpId, normalizeCode(code));

/** What a client's bundle says: the code, and a compressed P-256 point in hex. */
function guessIn(plaintext: Uint8Array): { code: string; publicKey: string } | undefined {
  try {
    const { otp_code: code, public_key: publicKey } = JSON.parse(Buffer.from(plaintext).toString()) as Record<
      string,
      unknown
    >;
    const isWhole =
      typeof code === "string" && typeof publicKey === "string" && /^0[23][0-9a-fA-F]{64}$/.test(publicKey);
    return isWhole ? { code, publicKey: publicKey.toLowerCase() } : undefined;
  } catch {
    return undefined;
  }
}

/** The plaintext of an envelope that is for one of these keys; the caller wipes it. */
function openWithFirst(
  organization: Organization,
  keys: readonly KeyReference[],
  envelope: Uint8Array,
): Buffer | undefined {
  for (const key of keys) {
    const plaintext = withKey(organization, key, ({ curve, secret }) =>
      curve === "CURVE_P256" ? openQuorumEnvelope(secret, envelope) : undefined,
    );
    if (plaintext) return plaintext;
  }
  return undefined;
}

function importKeysOf(
  organization: Organization,
  importKeys: readonly { importId: string; sealedImportKey: Sealed }[],
): ImportKey[] {
  return importKeys.map(({ importId, sealedImportKey }) => ({
    importId,
    open: () => organization.open(["import key", importId], sealedImportKey),
  }));
}

/** @throws SigningRefused, RootKeySealed, RootKeyProblem with texts that hold no secret */
export function answer<R extends SignerRequest>(request: R): Responses[R["verb"]] {
  const verb = verbs[request.verb] as unknown as ((request: R) => Responses[R["verb"]]) | undefined;
  if (!verb) throw new SigningRefused("unknown verb");
  return verb(request);
}

/** Wipes what is open; nothing is answered after it. */
export function forgetSecrets(): void {
  secrets.clear();
  ephemeral.forget();
  if (rootKey) wipe(rootKey);
  rootKey = undefined;
}
