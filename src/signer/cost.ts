import type { Curve, KeyReference, Occasion, Scheme, SignerRequest } from "./protocol.ts";

/**
 * What a request costs the signer, in units of one secp256k1 signature: about a tenth of a millisecond. The figures are rough
 * and from measurements, with seeds of wallets open already; they keep a long request from counting like a short one.
 */
export function costOf(request: SignerRequest, occasion?: Occasion): number {
  const cost = costs[request.verb] as (request: SignerRequest) => number;
  return OPENING + cost(request) + (occasion === undefined ? 0 : bytes(occasion.body.length));
}

const UNITS_IN_A_SECOND = 10_000;

/** How long the signer takes, about. */
export const secondsOf = (cost: number): number => cost / UNITS_IN_A_SECOND;

/** The seals of the organization and the key. */
const OPENING = 1;
/** Of a wallet that is new: 2048 rounds of HMAC-SHA512 (BIP-39). */
const SEED = 20;
export const NEW_KEY_COST = 1;
const HPKE = 10;
const PROOF = 6;
const BYTES_IN_A_UNIT = 1024;

const signatures: Record<Curve, number> = { CURVE_SECP256K1: 1, CURVE_P256: 6, CURVE_ED25519: 3 };
const SCHNORR_SIGNATURE = 4;
/** Deriving it from a seed, and its public key. */
export const ACCOUNT_COST = 4;
/** Opening or deriving its key, and a signature on P-256. */
export const ADDRESS_PROOF_COST = ACCOUNT_COST + PROOF;

const bytes = (length: number): number => length / BYTES_IN_A_UNIT;

/** Of a payload with its hash; `payload` is base64. */
export const signatureCost = ({ curve }: KeyReference, scheme: Scheme | undefined, payload: string): number =>
  (scheme === undefined ? signatures[curve] : SCHNORR_SIGNATURE) + bytes(payload.length);

const sum = <Item>(items: readonly Item[], cost: (item: Item) => number): number =>
  items.reduce((total, item) => total + cost(item), 0);

const imported = ({ importKeys, bundle }: { importKeys: readonly unknown[]; bundle: { ciphertext: string } }): number =>
  importKeys.length * (HPKE + bytes(bundle.ciphertext.length));

const costs: { [Verb in SignerRequest["verb"]]: (request: Extract<SignerRequest, { verb: Verb }>) => number } = {
  open: () => 0,
  createOrganizationKey: () => NEW_KEY_COST,
  generateKeys: ({ keys }) => keys.length * NEW_KEY_COST,
  sign: ({ key, scheme, payloads }) => sum(payloads, (payload) => signatureCost(key, scheme, payload)),
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
  sealJobSecret: ({ secret }) => bytes(secret.length),
  openJobSecret: ({ sealed }) => bytes(sealed.length),
  importClientSecret: ({ keys, envelope }) => keys.length * (HPKE + bytes(envelope.length)),
  openClientSecret: ({ sealedClientSecret }) => bytes(sealedClientSecret.length),
  describe: () => 0,
  proveAddresses: ({ addresses }) => addresses.length * ADDRESS_PROOF_COST,
  provePolicyOutcome: ({ policyOutcome: { userRequestApprovals } }) =>
    PROOF + sum(userRequestApprovals, ({ message, signature }) => bytes(message.length + signature.length)),
};
