import type {
  Curve,
  KeyReference,
  Occasion,
  Scheme,
  SealedItem,
  SignerRequest,
  SparkSharing,
  SparkSignature,
} from "./protocol.ts";
import type { Statement } from "./statements.ts";

/**
 * The cost of a request, in units of one secp256k1 signature: about a tenth of a millisecond. The figures are rough, measured with the
 * seeds of wallets already open. They keep a long request from counting as much as a short one.
 */
export function costOf(request: SignerRequest, occasion?: Occasion): number {
  const cost = costs[request.verb] as (request: SignerRequest) => number;
  return OPENING + cost(request) + (occasion === undefined ? 0 : occasionCost(occasion));
}

/** For parsing and hashing the activity. */
const occasionCost = ({ body, plan, ballots }: Occasion): number =>
  bytes(
    body.length +
      (plan === undefined ? 0 : JSON.stringify(plan).length) +
      ballots.reduce(
        (sum, { message = "", signature, assertion = "" }) =>
          sum + message.length + signature.length + assertion.length,
        0,
      ),
  );

const UNITS_IN_A_SECOND = 10_000;

/** The approximate time that the signer needs. */
export const secondsOf = (cost: number): number => cost / UNITS_IN_A_SECOND;

/** For unsealing the organization's key and the requested key. */
const OPENING = 1;
/** For a new wallet: 2048 rounds of HMAC-SHA512 (BIP-39). */
const SEED = 20;
export const NEW_KEY_COST = 1;
/** For unsealing and sealing 32 bytes. */
const RESEAL_COST = 0.2;
const HPKE = 10;
const PROOF = 6;
const BYTES_IN_A_UNIT = 1024;

const signatures: Record<Curve, number> = { CURVE_SECP256K1: 1, CURVE_P256: 3, CURVE_ED25519: 3 };
const SCHNORR_SIGNATURE = 4;
/** For deriving an account's key from a seed, and its public key. */
export const ACCOUNT_COST = 4;
/** For opening or deriving the key, and a signature on P-256. */
export const ADDRESS_PROOF_COST = ACCOUNT_COST + PROOF;

/** For deriving the key, the nonces' points, and checking the share. Each operator adds a binding factor and its point. */
const FROST_SHARE = 8;
const SPARK_ENVELOPE = 2;
const QUORUM_ENVELOPE = 3;
/** For verifying a sender's signature. */
export const SPARK_SENDER_COST = 1;

const bytes = (length: number): number => length / BYTES_IN_A_UNIT;

/** For a payload including its hash; `payload` is base64. */
export const signatureCost = ({ curve }: KeyReference, scheme: Scheme | undefined, payload: string): number =>
  (scheme === undefined ? signatures[curve] : SCHNORR_SIGNATURE) + bytes(payload.length);

export const statementCost = ({ curve }: { curve: Curve }, statement: Statement): number =>
  signatures[curve] + ("body" in statement ? bytes(statement.body.length) : 0);

export const frostCost = ({ operatorCommitments }: SparkSignature): number => FROST_SHARE + operatorCommitments.length;

/** A point for each share and each coefficient, and verifying them. */
const sharingCost = ({ threshold, operatorRecipients }: SparkSharing): number =>
  (operatorRecipients.length + 2 * threshold) / 2;

/** For a leaf of a transfer or a claim: its keys, the shares of the change, and signing and encrypting the result. */
export const sparkLeafCost = (sharing: SparkSharing): number =>
  2 * ACCOUNT_COST + SPARK_ENVELOPE + sharingCost(sharing) + sharing.operatorRecipients.length;

const packagesCost = ({ operatorRecipients }: SparkSharing): number => operatorRecipients.length * SPARK_ENVELOPE;

const sum = <Item>(items: readonly Item[], cost: (item: Item) => number): number =>
  items.reduce((total, item) => total + cost(item), 0);

/** For opening the item, its public keys, and a signature. */
export const rehearsalCost = (item: SealedItem): number => {
  if (item.of === "wallet") return SEED + item.accounts.length * ACCOUNT_COST + PROOF;
  return NEW_KEY_COST + (item.of === "key" ? PROOF : bytes(item.sealed.length));
};

const imported = ({ importKeys, bundle }: { importKeys: readonly unknown[]; bundle: { ciphertext: string } }): number =>
  importKeys.length * (HPKE + bytes(bundle.ciphertext.length));

const costs: { [Verb in SignerRequest["verb"]]: (request: Extract<SignerRequest, { verb: Verb }>) => number } = {
  open: () => 0,
  replaceRootKeyFile: () => 0,
  resealOrganizationKeys: ({ organizations }) => organizations.length * RESEAL_COST,
  createOrganizationKey: () => NEW_KEY_COST,
  generateKeys: ({ keys }) => keys.length * NEW_KEY_COST,
  sign: ({ key, scheme, payloads }) => sum(payloads, (payload) => signatureCost(key, scheme, payload)),
  signStatements: ({ key, statements }) => sum(statements, (statement) => statementCost(key, statement)),
  signSponsorTransaction: ({ key: { curve }, transaction }) => signatures[curve] + bytes(transaction.length),
  createWallet: ({ accounts }) => SEED + accounts.length * ACCOUNT_COST,
  deriveAccounts: ({ accounts }) => accounts.length * ACCOUNT_COST,
  createImportKeys: ({ importIds }) => importIds.length * NEW_KEY_COST,
  importWallet: (request) => imported(request) + SEED + request.accounts.length * ACCOUNT_COST,
  importPrivateKey: imported,
  importSecret: imported,
  exportWallet: () => HPKE,
  exportKey: () => HPKE,
  exportSecret: ({ sealedSecret }) => HPKE + bytes(sealedSecret.length),
  macOtp: () => NEW_KEY_COST,
  openOtp: () => HPKE,
  issueCredential: () => NEW_KEY_COST + HPKE,
  createAuthProxyKey: () => NEW_KEY_COST,
  stampAuthProxyBody: ({ body }) => signatures.CURVE_P256 + bytes(body.length),
  sealJobSecret: ({ secret }) => bytes(secret.length),
  openJobSecret: ({ sealed }) => bytes(sealed.length),
  importClientSecret: ({ keys, envelope }) => keys.length * (HPKE + bytes(envelope.length)),
  openClientSecret: ({ sealedClientSecret }) => bytes(sealedClientSecret.length),
  importOnRampKeys: ({ keys, privateApiKey }) => keys.length * HPKE * (privateApiKey === undefined ? 1 : 2),
  signMoonPayUrl: () => NEW_KEY_COST,
  authorizeCoinbase: () => PROOF,
  signSparkFrost: ({ signatures }) => sum(signatures, frostCost),
  prepareSparkTransfer: ({ transfer }) =>
    packagesCost(transfer) + transfer.leaves.length * sparkLeafCost(transfer) + signatures.CURVE_SECP256K1,
  claimSparkTransfer: ({ claim }) =>
    packagesCost(claim) + claim.leaves.length * (SPARK_SENDER_COST + sparkLeafCost(claim)),
  prepareSparkLightningReceive: ({ lightningReceive }) =>
    packagesCost(lightningReceive) + sharingCost(lightningReceive) + NEW_KEY_COST,
  openPullSecret: ({ keys, envelope }) => keys.length * (HPKE + bytes(envelope.length)),
  createQuorumKey: ({ operatorEncryptKeys, threshold }) =>
    NEW_KEY_COST + operatorEncryptKeys.length * (QUORUM_ENVELOPE + threshold / 10),
  reEncryptQuorumShare: ({ keys, manifestB64 }) =>
    2 * (ACCOUNT_COST + QUORUM_ENVELOPE) + PROOF + keys.length * PROOF + bytes(manifestB64.length),
  describe: () => 0,
  proveAddresses: ({ addresses }) => addresses.length * ADDRESS_PROOF_COST,
  provePolicyOutcome: ({ policyOutcome: { userRequestApprovals } }) =>
    PROOF + sum(userRequestApprovals, ({ message, signature }) => bytes(message.length + signature.length)),
  rehearse: ({ items }) => sum(items, rehearsalCost),
};
