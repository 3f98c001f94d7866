import { createHash } from "node:crypto";

/** The keys of a Spark wallet, one of each kind per account: m/8797555'/a'/… */

/** Selects a key of a wallet, as in requests: exactly one member. */
export interface SparkDerivation {
  identity?: object;
  signingLeaf?: { leafId: string };
  deposit?: object;
  staticDeposit?: { index: number };
  htlcPreimage?: object;
}

export const sparkKeyKinds = ["identity", "signingLeaf", "deposit", "staticDeposit", "htlcPreimage"] as const;
export type SparkKeyKind = (typeof sparkKeyKinds)[number];

const IDENTITY_PATH = /^m\/8797555'\/(0|[1-9][0-9]{0,9})'\/0'$/;
/** The form of an identity key's path, for error messages. */
export const IDENTITY_PATH_FORM = "m/8797555'/a'/0'";

/** The account level of the path of an identity key; undefined for any other path. */
export function sparkAccount(path: string): string | undefined {
  return IDENTITY_PATH.exec(path)?.[1];
}

/**
 * The kind of key that a derivation names; a null member counts as missing.
 *
 * @throws RangeError unless the derivation has exactly one member
 */
export function sparkKeyKind(derivation: SparkDerivation): SparkKeyKind {
  const [kind, ...others] = sparkKeyKinds.filter((kind) => (derivation[kind] ?? undefined) !== undefined);
  if (kind === undefined || others.length > 0) throw new RangeError("a derivation names exactly one key");
  return kind;
}

/**
 * The path of one of the keys of an account.
 *
 * @throws RangeError unless the derivation has exactly one member
 */
export function sparkPath(account: string, derivation: SparkDerivation): string {
  sparkKeyKind(derivation);
  return `m/8797555'/${account}'/${childOf(derivation)}`;
}

function childOf({ identity, signingLeaf, deposit, staticDeposit }: SparkDerivation): string {
  if (identity) return "0'";
  if (signingLeaf) return `1'/${leafIndex(signingLeaf.leafId)}'`;
  if (deposit) return "2'";
  return staticDeposit ? `3'/${staticDeposit.index}'` : "4'";
}

/** The index of a leaf's key: the first four bytes of the SHA-256 of its identifier's text, modulo 2^31. */
export function leafIndex(leafId: string): number {
  return createHash("sha256").update(leafId, "utf8").digest().readUInt32BE() % 0x80000000;
}
