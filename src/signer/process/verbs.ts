import { randomBytes } from "node:crypto";
import { deriveAddress } from "../../crypto/addresses.ts";
import { encodeEcdsaDer } from "../../crypto/ecdsa-der.ts";
import { generateReceiver } from "../../crypto/hpke.ts";
import { generateMnemonic } from "../../crypto/mnemonics.ts";
import { normalizeCode } from "../../crypto/one-time-codes.ts";
import { openQuorumEnvelope } from "../../crypto/quorum-encryption.ts";
import { secp256k1Problem } from "../../crypto/secp256k1.ts";
import { sparkAccount, sparkPath } from "../../crypto/spark/keys.ts";
import { toHex } from "../../kernel/bytes.ts";
import { MAX_MNEMONIC_BYTES, MAX_OTP_BUNDLE_BYTES, MAX_SECRET_BYTES } from "../../kernel/limits.ts";
import {
  type AccountReference,
  type CreateImportKeysRequest,
  type Curve,
  INSTALLATION,
  type KeyReference,
  type OpenRequest,
  PROTOCOL_VERSION,
  type RehearsedItem,
  type ReplaceRootKeyFileRequest,
  type Responses,
  type Sealed,
  type SealedImportKey,
  type SealedItem,
  type SignerRequest,
  type SignSparkFrostRequest,
} from "../protocol.ts";

import { type Statement, StatementProblem, spelled } from "../statements.ts";
import { describeCode } from "./code.ts";
import { addressPayload, ephemeralKeys, outcomePayload } from "./ephemeral.ts";
import { type ImportKey, openImport, sealExport } from "./imports-exports.ts";
import { generateSecret, hasAddress, isSecret, type OpenKey, publicKeyOf } from "./keys.ts";
import type { Use } from "./occasion.ts";
import { coinbaseToken, importOnRampKeys, signMoonPayUrl } from "./on-ramp.ts";
import { type Organization, organizationContext, withOrganization, withSecret } from "./organization.ts";
import { pullCredential } from "./pull-secrets.ts";
import { createQuorumKey, reEncryptedTo, statedProvisioning } from "./quorum-keys.ts";
import { SigningRefused } from "./refused.ts";
import { newRootKey, openRootKeyFile, RootKeyProblem, revisionOf, writeRootKeyFile } from "./root-key-file.ts";
import { RootKeys, rootKeyId } from "./root-keys.ts";
import { cachedKey, secretCache } from "./secret-cache.ts";
import { signPayload } from "./sign.ts";
import { type OpenSparkWallet, prepareLightningReceive, type SparkWallet, signFrost } from "./spark.ts";
import { signSponsorTransaction } from "./sponsor.ts";
import { useRecorder } from "./uses.ts";
import {
  accountPublicKeys,
  accountSecret,
  cachedAccount,
  cachedSeed,
  isWallet,
  type WalletHandle,
  walletInLanguage,
  walletSeed,
} from "./wallets.ts";

const SPARK_FORMATS = "ADDRESS_FORMAT_SPARK_";
type SparkWalletRequest = Pick<SignSparkFrostRequest, "organizationId" | "organizationKey" | "key">;

/** The root key is not open. */
export class RootKeySealed extends Error {}

const ephemeral = ephemeralKeys();
/** Read at the start, when the files are still those that were loaded. */
const code = describeCode();
const description: Responses["describe"] = {
  ephemeralPublicKey: ephemeral.publicKey,
  startedAt: ephemeral.startedAt,
  protocolVersion: PROTOCOL_VERSION,
  ...code,
};
/** The file that is open; undefined while sealed. */
let opened: { file: string; revision: string; rootKeys: RootKeys; mayReplaceFile: boolean } | undefined;
let secrets = secretCache({ entries: 0, lifetimeMs: 0 });
/** Logs a use of a key for the operator, if enabled. */
export let recordUse: (use: Use) => void = () => {};

/** Requests that are answered at once or slice by slice. The two others, whose packages grow with each slice, are in `slices.ts`. */
export type AnsweredRequest = Exclude<SignerRequest, { verb: "prepareSparkTransfer" | "claimSparkTransfer" }>;
type VerbOfAnsweredRequest = AnsweredRequest["verb"];

const verbs: { [Verb in VerbOfAnsweredRequest]: (request: Extract<SignerRequest, { verb: Verb }>) => Responses[Verb] } =
  {
    open,

    replaceRootKeyFile,

    resealOrganizationKeys: ({ organizations }) => ({
      organizationKeys: organizations.map(
        ({ organizationId, organizationKey }) =>
          openedRootKeys().reseal(organizationContext(organizationId), organizationKey) ?? null,
      ),
    }),

    createOrganizationKey({ organizationId }) {
      const context = organizationContext(organizationId);
      return withSecret(randomBytes(32), (key) => ({ organizationKey: openedRootKeys().seal(context, key) }));
    },

    generateKeys: ({ keys, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => ({
        keys: keys.map(({ keyId, curve, isSponsor }) =>
          withSecret(generateSecret(curve), (secret) =>
            storedKey(organization, keyId, curve, secret, isSponsor ? "sponsor key" : "key"),
          ),
        ),
      })),

    sign: ({ key, scheme, hash, payloads, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withKey(organization, key, (open) => ({
          signatures: payloads.map((payload) => signPayload(open, hash, Buffer.from(payload, "base64"), scheme)),
        })),
      ),

    signStatements({ key: { keyId, curve, sealedKey }, statements, ...owner }) {
      if (owner.organizationId !== INSTALLATION) throw new SigningRefused("only the installation makes statements");
      return withOrganization(openedRootKeys(), owner, (service) =>
        withSecret(service.open(["key", keyId, curve], sealedKey), (secret) => {
          const key: OpenKey = { curve, secret, origin: sealedKey };
          const hash = curve === "CURVE_ED25519" ? "none" : "sha256";
          return {
            signatures: statements.map((statement) => {
              const { r, s } = signPayload(key, hash, textOf(statement));
              return r + s;
            }),
          };
        }),
      );
    },

    signSponsorTransaction: ({ installationKey, key: { keyId, curve, sealedKey }, transaction }) =>
      withOrganization(
        openedRootKeys(),
        { organizationId: INSTALLATION, organizationKey: installationKey },
        (installation) =>
          withSecret(installation.open(["sponsor key", keyId, curve], sealedKey), (secret) => ({
            signature: signSponsorTransaction({ curve, secret, origin: sealedKey }, Buffer.from(transaction, "base64")),
          })),
      ),

    createWallet: ({ walletId, mnemonicLength, accounts, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(Buffer.from(generateMnemonic(mnemonicLength), "utf8"), (wallet) =>
          storedWallet(organization, walletId, wallet, accounts),
        ),
      ),

    deriveAccounts: ({ walletId, sealedWallet, accounts, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(cachedSeed(secrets, walletOf(organization, walletId, sealedWallet)), (seed) => ({
          publicKeys: accountPublicKeys(seed, accounts),
        })),
      ),

    createImportKeys: ({ importIds, terms, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => ({
        importKeys: importIds.map((importId) => {
          const { secret, publicKey } = generateReceiver();
          return withSecret(secret, () => ({
            sealedImportKey: organization.seal(importKeyContext(importId, terms), secret),
            targetPublicKey: toHex(publicKey),
          }));
        }),
      })),

    importWallet: ({ importKeys, bundle, walletId, accounts, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        openImport(importKeysOf(organization, "key", importKeys), bundle, MAX_MNEMONIC_BYTES, (wallet) =>
          isWallet(wallet) ? storedWallet(organization, walletId, wallet, accounts) : "invalidMnemonic",
        ),
      ),

    importPrivateKey: ({ importKeys, bundle, keyId, curve, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        openImport(importKeysOf(organization, "key", importKeys), bundle, MAX_MNEMONIC_BYTES, (secret) =>
          isSecret(curve, secret) ? storedKey(organization, keyId, curve, secret) : "invalidKey",
        ),
      ),

    importSecret: ({ importKeys, bundle, secretId, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        openImport(importKeysOf(organization, "secret", importKeys), bundle, MAX_SECRET_BYTES, (secret) => ({
          sealedSecret: organization.seal(["secret", secretId], secret),
        })),
      ),

    exportWallet: ({ walletId, sealedWallet, language, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(walletOf(organization, walletId, sealedWallet).open(), (wallet) =>
          language === undefined
            ? sealExport(targetPublicKey, wallet)
            : withSecret(walletInLanguage(wallet, language), (words) => sealExport(targetPublicKey, words)),
        ),
      ),

    exportKey: ({ key, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withKey(organization, key, ({ secret }) => sealExport(targetPublicKey, secret)),
      ),

    exportSecret: ({ secretId, sealedSecret, targetPublicKey, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["secret", secretId], sealedSecret), (secret) =>
          sealExport(targetPublicKey, secret),
        ),
      ),

    issueCredential: ({ targetPublicKey }) =>
      withSecret(generateSecret("CURVE_P256"), (secret) => ({
        publicKey: publicKeyOf("CURVE_P256", secret),
        message: sealExport(targetPublicKey, secret),
      })),

    createAuthProxyKey: ({ configId, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(generateSecret("CURVE_P256"), (secret) => ({
          sealedKey: organization.seal(["auth proxy key", configId], secret),
          publicKey: publicKeyOf("CURVE_P256", secret),
        })),
      ),

    stampAuthProxyBody: ({ configId, sealedKey, body, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["auth proxy key", configId], sealedKey), (secret) => {
          const key: OpenKey = { curve: "CURVE_P256", secret, origin: sealedKey };
          const { r, s } = signPayload(key, "sha256", Buffer.from(body));
          return { signature: toHex(encodeEcdsaDer(Buffer.from(r + s, "hex"))) };
        }),
      ),

    macOtp: ({ otpId, code, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => ({ mac: macOfCode(organization, otpId, code) })),

    openOtp: ({ otpId, sealedTargetKey, bundle, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => {
        const target = {
          importId: otpId,
          open: () => organization.open(importKeyContext(otpId, { purpose: "code" }), sealedTargetKey),
        };
        const opened = openImport([target], bundle, MAX_OTP_BUNDLE_BYTES, (plaintext) => {
          const guess = guessIn(plaintext);
          return guess ? { mac: macOfCode(organization, otpId, guess.code), publicKey: guess.publicKey } : "invalidKey";
        });
        if (!("problem" in opened)) return { mac: opened.mac, publicKey: opened.publicKey };
        return { problem: opened.problem === "invalidKey" ? "malformed" : "undecryptable" };
      }),

    sealJobSecret: ({ secretId, jobKind, secret, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(Buffer.from(secret, "base64"), (plain) => ({
          sealed: organization.seal(["job secret", secretId, jobKind], plain),
        })),
      ),

    openJobSecret: ({ secretId, jobKind, sealed, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["job secret", secretId, jobKind], sealed), (plain) => ({
          secret: plain.toString("base64"),
        })),
      ),

    importClientSecret: ({ credentialId, envelope, installationKey, keys, ...owner }) => {
      const installation = { organizationId: INSTALLATION, organizationKey: installationKey };
      const plaintext = withOrganization(openedRootKeys(), installation, (service) =>
        openWithFirst(service, keys, Buffer.from(envelope, "base64")),
      );
      if (!plaintext) return { problem: "undecryptable" };
      return withSecret(plaintext, () =>
        withOrganization(openedRootKeys(), owner, (organization) => ({
          sealedClientSecret: organization.seal(["client secret", credentialId], plaintext),
        })),
      );
    },

    openClientSecret: ({ credentialId, sealedClientSecret, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["client secret", credentialId], sealedClientSecret), (plain) => ({
          clientSecret: plain.toString("base64"),
        })),
      ),

    importOnRampKeys: ({ credentialId, provider, secretApiKey, privateApiKey, installationKey, keys, ...owner }) => {
      const installation = { organizationId: INSTALLATION, organizationKey: installationKey };
      const bundles = { secretApiKey, ...(privateApiKey === undefined ? {} : { privateApiKey }) };
      return withOrganization(openedRootKeys(), owner, (organization) =>
        withOrganization(openedRootKeys(), installation, (service) =>
          importOnRampKeys(targetsOf(service, keys), provider, bundles, (packed) =>
            organization.seal(["on-ramp keys", credentialId, provider], packed),
          ),
        ),
      );
    },

    signMoonPayUrl: ({ credentialId, sealedKeys, sandbox, of, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["on-ramp keys", credentialId, "moonpay"], sealedKeys), (packed) =>
          signMoonPayUrl(packed, { sandbox, of }),
        ),
      ),

    authorizeCoinbase: ({ credentialId, sealedKeys, keyId, host, request, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) =>
        withSecret(organization.open(["on-ramp keys", credentialId, "coinbase"], sealedKeys), (packed) => ({
          token: coinbaseToken(packed, { keyId, host, request }),
        })),
      ),

    signSparkFrost: ({ signatures, ...owner }) => withSparkWallet(owner, (wallet) => signFrost(wallet, signatures)),

    prepareSparkLightningReceive: ({ lightningReceive, ...owner }) =>
      withSparkWallet(owner, (wallet) => prepareLightningReceive(wallet, lightningReceive)),

    openPullSecret: ({ envelope, registry, installationKey, keys }) => {
      const installation = { organizationId: INSTALLATION, organizationKey: installationKey };
      const plaintext = withOrganization(openedRootKeys(), installation, (service) =>
        openWithFirst(service, keys, Buffer.from(envelope, "hex")),
      );
      return plaintext
        ? withSecret(plaintext, () => pullCredential(plaintext, registry))
        : { problem: "undecryptable" };
    },

    createQuorumKey(request) {
      openedRootKeys();
      return createQuorumKey(request);
    },

    reEncryptQuorumShare: ({ encryptKey, signKey, installationKey, keys, organizationId, organizationKey, ...share }) =>
      withOrganization(openedRootKeys(), { organizationId, organizationKey }, (organization) => {
        const installation = { organizationId: INSTALLATION, organizationKey: installationKey };
        const stated = withOrganization(openedRootKeys(), installation, (service) =>
          statedProvisioning(share, publicKeysOf(service, keys)),
        );
        if (!stated) return { problem: "unstated" };
        const reEncryptedShare = withKey(organization, encryptKey, ({ secret }) =>
          reEncryptedTo(stated.ephemeralPublicKey, secret, share.encryptedShare),
        );
        if (reEncryptedShare === undefined) return { problem: "undecryptable" };
        const hash = Buffer.from(stated.manifestHash, "hex");
        const { r, s } = withKey(organization, signKey, (key) => signPayload(key, "sha256", hash));
        return { ephemeralPublicKey: stated.ephemeralPublicKey, reEncryptedShare, signature: r + s };
      }),

    describe: () => description,

    proveAddresses: ({ addresses, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => ({
        ephemeralPublicKey: ephemeral.publicKey,
        proofs: addresses.map(({ key, format }) => {
          const publicKey = withKey(organization, key, ({ curve, secret }) => publicKeyOf(curve, secret));
          const address = deriveAddress(format, key.curve, Buffer.from(publicKey, "hex"));
          return ephemeral.sign(addressPayload(organization.organizationId, key, address, Date.now()));
        }),
      })),

    provePolicyOutcome({ timestampMs, policyOutcome }) {
      openedRootKeys();
      const proof = ephemeral.sign(outcomePayload(policyOutcome, timestampMs));
      return { ephemeralPublicKey: ephemeral.publicKey, proof };
    },

    rehearse: ({ items, ...owner }) =>
      withOrganization(openedRootKeys(), owner, (organization) => {
        organization.openKey();
        return { items: items.map((item) => rehearsedOrRefused(organization, item)) };
      }),
  };

function open(request: OpenRequest): Responses["open"] {
  const { protocolVersion, rootKeyFile, passphrase, mayCreate, sealsWith, mayReplaceFile } = request;
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new SigningRefused(
      `the server speaks version ${protocolVersion} of the protocol, the signer ${PROTOCOL_VERSION}`,
    );
  }
  if (secp256k1Problem !== undefined) throw new SigningRefused(secp256k1Problem);
  if (opened) return openAgain(opened, request);
  const outcome = openRootKeyFile(rootKeyFile, passphrase, mayCreate);
  if (outcome.state === "sealed") return { state: "sealed" };
  const { created, revision } = outcome;
  const rootKeys = new RootKeys(outcome.rootKeys, sealsWith);
  opened = { file: rootKeyFile, revision, rootKeys, mayReplaceFile };
  secrets.clear();
  secrets = secretCache(request.seedCache);
  if (request.recordUses) recordUse = useRecorder((text) => void process.stderr.write(text));
  return { state: "open", rootKeyIds: [...rootKeys.ids], created };
}

/** During a rotation a server asks for another key that seals, which may have been added to the file since it was read. */
function openAgain(
  before: NonNullable<typeof opened>,
  { rootKeyFile: file, passphrase, sealsWith }: OpenRequest,
): Responses["open"] {
  if (file !== before.file) throw new SigningRefused("another root key file is open");
  // Reading a protected file takes half a second.
  if (revisionOf(file) === before.revision) {
    opened = { ...before, rootKeys: new RootKeys(before.rootKeys.keys, sealsWith) };
  } else {
    const outcome = openRootKeyFile(file, passphrase, false);
    if (outcome.state === "sealed") throw new RootKeySealed("the root key file is protected by a passphrase now");
    const rootKeys = new RootKeys(outcome.rootKeys, sealsWith);
    if (sealsWith !== undefined && rootKeys.ids[0] !== sealsWith) {
      rootKeys.wipe();
      throw new RootKeyProblem(`the root key file ${file} does not contain the root key ${sealsWith} any more`);
    }
    opened = { ...before, revision: outcome.revision, rootKeys };
    before.rootKeys.wipe();
  }
  return { state: "open", rootKeyIds: [...opened.rootKeys.ids], created: false };
}

function replaceRootKeyFile({ keys, passphrase }: ReplaceRootKeyFileRequest): Responses["replaceRootKeyFile"] {
  if (!opened) throw new RootKeySealed("the root key is sealed");
  if (!opened.mayReplaceFile) throw new SigningRefused("this signer was not started to replace the root key file");
  const { keys: before } = opened.rootKeys;
  const after = { same: before, "one more": [...before, newRootKey()], "the one that seals": before.slice(0, 1) }[keys];
  writeRootKeyFile(opened, after, passphrase);
  opened.revision = revisionOf(opened.file);
  return { rootKeyIds: after.map(rootKeyId) };
}

function openedRootKeys(): RootKeys {
  if (!opened) throw new RootKeySealed("the root key is sealed");
  return opened.rootKeys;
}

function storedKey(
  organization: Organization,
  keyId: string,
  curve: Curve,
  secret: Uint8Array,
  kind: "key" | "sponsor key" = "key",
): { sealedKey: Sealed; publicKey: string } {
  return { sealedKey: organization.seal([kind, keyId, curve], secret), publicKey: publicKeyOf(curve, secret) };
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

/** The public keys of keys of the installation. */
const publicKeysOf = (service: Organization, keys: readonly KeyReference[]): string[] =>
  keys.map((key) => withKey(service, key, ({ curve, secret }) => publicKeyOf(curve, secret)));

function walletOf(organization: Organization, walletId: string, sealedWallet: Sealed): WalletHandle {
  const { organizationId, organizationKey } = organization;
  const open = () => organization.open(["wallet", walletId], sealedWallet);
  return { organizationId, organizationKey, walletId, sealedWallet, open };
}

/** @throws SigningRefused if the key was named by an address that is not its own */
function withKey<T>(organization: Organization, key: KeyReference, use: (key: OpenKey) => T): T {
  return withOpenKey(organization, key, (open) => {
    if (key.address === undefined || hasAddress(open, key.address)) return use(open);
    throw new SigningRefused("the address does not belong to the key");
  });
}

function withOpenKey<T>(organization: Organization, key: KeyReference, use: (key: OpenKey) => T): T {
  const { curve } = key;
  if (key.kind === "privateKey") {
    const { keyId, sealedKey } = key;
    const secret = cachedKey(secrets, organization, { keyId, curve, sealedKey });
    return withSecret(secret, (secret) => use({ curve, secret, origin: sealedKey }));
  }
  const wallet = walletOf(organization, key.walletId, key.sealedWallet);
  const account = cachedAccount(secrets, wallet, { curve, path: key.path });
  return withSecret(account.secret, (secret) => use({ curve, secret, origin: account.origin }));
}

/** Lets work of several slices open its wallet again in each slice. */
export const sparkWalletOf =
  (request: SparkWalletRequest): OpenSparkWallet =>
  (use) =>
    withSparkWallet(request, use);

/** @throws SigningRefused unless the key is named by its Spark address and its path is one of an identity key */
function withSparkWallet<T>({ key, ...owner }: SparkWalletRequest, use: (wallet: SparkWallet) => T): T {
  return withOrganization(openedRootKeys(), owner, (organization) =>
    withKey(organization, key, (identity) => {
      const account = key.kind === "walletAccount" ? sparkAccount(key.path) : undefined;
      if (key.kind !== "walletAccount" || account === undefined || !key.address?.format.startsWith(SPARK_FORMATS)) {
        throw new SigningRefused("the key is not the identity key of a Spark wallet");
      }
      const handle = walletOf(organization, key.walletId, key.sealedWallet);
      return withSecret(cachedSeed(secrets, handle), (seed) =>
        use({
          identity,
          secretOf: (derivation) =>
            accountSecret(seed, { curve: "CURVE_SECP256K1", path: sparkPath(account, derivation) }),
        }),
      );
    }),
  );
}

function textOf(statement: Statement): Buffer {
  try {
    return spelled(statement, description);
  } catch (error) {
    throw error instanceof StatementProblem ? new SigningRefused(error.message) : error;
  }
}

function rehearsedOrRefused(organization: Organization, item: SealedItem): RehearsedItem {
  try {
    return rehearsed(organization, item);
  } catch (error) {
    if (error instanceof SigningRefused) return { problem: error.message };
    throw error;
  }
}

function rehearsed(organization: Organization, item: SealedItem): RehearsedItem {
  if (item.of === "secret") {
    const [id, ...more] = item.ids;
    return withSecret(organization.open([item.purpose, id, ...more], item.sealed), () => ({ publicKeys: [] }));
  }
  if (item.of === "key") {
    const { keyId, curve, purpose = "key", sealed, sign } = item;
    return withSecret(organization.open([purpose, keyId, curve], sealed), (secret) => ({
      publicKeys: [publicKeyOf(curve, secret)],
      ...(sign ? { signature: rehearsedSignature({ curve, secret, origin: sealed }) } : {}),
    }));
  }
  const { walletId, sealed: sealedWallet, accounts } = item;
  const [first] = accounts;
  const publicKeys = withSecret(walletOf(organization, walletId, sealedWallet).open(), (wallet) =>
    withSecret(walletSeed(wallet), (seed) => accountPublicKeys(seed, accounts)),
  );
  if (!item.sign || !first) return { publicKeys };
  const key = { kind: "walletAccount", walletId, sealedWallet, ...first } as const;
  return { publicKeys, signature: withOpenKey(organization, key, rehearsedSignature) };
}

/** The signer chooses every byte of what is signed. */
function rehearsedSignature(key: OpenKey): { message: string; r: string; s: string } {
  const message = `keystead restore drill ${randomBytes(16).toString("hex")}`;
  const { r, s } = signPayload(key, key.curve === "CURVE_ED25519" ? "none" : "sha256", Buffer.from(message));
  return { message, r, s };
}

const macOfCode = (organization: Organization, otpId: string, code: string): string =>
  organization.mac("one-time code", otpId, normalizeCode(code));

/** The content of a client's bundle: the code, and a compressed P-256 point in hex. */
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

/** The plaintext of an envelope encrypted to one of these keys; the caller wipes it. */
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

/** The installation's keys as possible recipients of a bundle. */
const targetsOf = (service: Organization, keys: readonly KeyReference[]): ImportKey[] =>
  keys.flatMap((key) =>
    key.kind === "privateKey" && key.curve === "CURVE_P256"
      ? [{ importId: key.keyId, open: () => service.open(["key", key.keyId, key.curve], key.sealedKey) }]
      : [],
  );

const importKeysOf = (
  organization: Organization,
  purpose: "key" | "secret",
  importKeys: readonly SealedImportKey[],
): ImportKey[] =>
  importKeys.map(({ importId, sealedImportKey, ...terms }) => ({
    importId,
    open: () => organization.open(importKeyContext(importId, { purpose, ...terms }), sealedImportKey),
  }));

/** The context with which an import key is sealed. */
const importKeyContext = (importId: string, terms: CreateImportKeysRequest["terms"]) =>
  terms.purpose === "code"
    ? (["import key", importId] as const)
    : (["import key", importId, terms.purpose, terms.userId, String(terms.issuedAt)] as const);

/** @throws SigningRefused, RootKeySealed, RootKeyProblem, whose messages contain no secret */
export function answer<R extends AnsweredRequest>(request: R): Responses[R["verb"]] {
  const verb = verbs[request.verb] as unknown as ((request: R) => Responses[R["verb"]]) | undefined;
  if (!verb) throw new SigningRefused("unknown verb");
  return verb(request);
}

/** Wipes everything that is open; nothing can be answered afterwards. */
export function forgetSecrets(): void {
  secrets.clear();
  ephemeral.forget();
  opened?.rootKeys.wipe();
  opened = undefined;
}
