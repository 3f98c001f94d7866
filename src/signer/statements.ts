import { createHash } from "node:crypto";
import { signingInput } from "../crypto/jwt.ts";
import { type Provisioning, provisioningText } from "../crypto/manifests/provisioning.ts";
import { canonicalJson } from "../kernel/json.ts";

/**
 * The statements that the installation makes in its own name, as one closed union. The signer encodes each kind itself, from members that
 * it checks, so that a compromised server cannot have bytes of its choice signed by a key of the installation.
 */
export type Statement =
  /** An encrypted export, and its organization. */
  | { says: "export"; encappedPublic: string; ciphertext: string; organizationId: string }
  /** A key to which an import or a one-time code is encrypted, and for whom. */
  | { says: "target"; targetPublic: string; organizationId: string; userId?: string }
  /** A delivery of a webhook, in the format of the hosted API's clients; `timestampMs` is the time of the attempt. */
  | { says: "delivery"; keyId: string; timestampMs: number; eventId: string; body: string }
  /** The same delivery in the format of Standard Webhooks. */
  | { says: "standardDelivery"; seconds: number; eventId: string; body: string }
  | TokenStatement
  /** The key that a deployment's runner made to receive shares of a quorum key. */
  | ({ says: "provisioning" } & Provisioning)
  /** The content of an archive of activities. */
  | ({ says: "archive" } & ArchiveStatement)
  /** The code that the signer runs. */
  | { says: "manifest" }
  /** The ephemeral key that the signer made when it started. */
  | { says: "boot" };

/** Statements in the form of compact tokens (RFC 7515). */
export type TokenStatement =
  | { says: "session"; claims: SessionClaims }
  | { says: "readOnlySession"; claims: ReadOnlyClaims }
  | { says: "verification"; claims: VerificationClaims }
  /** An OIDC token issued by this installation. */
  | { says: "identity"; keyId: string; claims: IdentityClaims };

/** The description of a session for the client. The session's key stamps requests; the token itself grants nothing. */
export interface SessionClaims {
  /** Seconds since 1970. */
  exp: number;
  /** As the client sent it. */
  public_key: string;
  /** `SESSION_TYPE_READ_WRITE`, or the name of the session's profile. */
  session_type: string;
  user_id: string;
  organization_id: string;
  session_profile_id?: string;
  scope?: string;
}

export interface ReadOnlyClaims {
  organizationId: string;
  userId: string;
  /** The kind of the credential that created it. */
  with: "apiKey" | "passkey";
  /** The look-up value of that credential, and its id. */
  key: string;
  credentialId: string;
  /** Milliseconds. */
  expiresAt: number;
}

/** States that somebody has entered a one-time code. */
export interface VerificationClaims {
  id: string;
  verification_type: string;
  contact: string;
  /** The organization that sent the code. */
  organization_id: string;
  /** Compressed hex; the key with which the bearer signs. */
  public_key?: string | undefined;
  /** Milliseconds in digits, because published clients expect that. */
  exp: string;
}

export interface IdentityClaims {
  iss: string;
  aud: string;
  sub: string;
  /** Seconds since 1970, as `exp`. */
  iat: number;
  exp: number;
  nonce: string;
  email?: string;
  email_verified?: boolean;
  encrypted_bearer_token?: string;
}

/** What identifies an archive of activities. */
export interface ArchiveStatement {
  installationId: string;
  /** Milliseconds: everything in the archive was submitted and completed before. */
  before: number;
  writtenAt: number;
  activities: number;
  /** Hex of the SHA-256 over its lines. */
  sha256: string;
}

/** A running signer's description of itself. */
export interface SignerDescription {
  /** Lowercase hex of 130 bytes: two uncompressed P-256 points, for encryption and for signing. */
  ephemeralPublicKey: string;
  /** Milliseconds. */
  startedAt: number;
  /** The versions of Keystead and of Node.js. */
  version: string;
  nodeVersion: string;
  protocolVersion: number;
  /** The source files of the signer by path, in the order of their paths; SHA-256 in hex. */
  files: { path: string; sha256: string }[];
  /** Hex of the SHA-256 over the files as `<sha256>  <path>\n`, in that order. */
  codeDigest: string;
}

/** A statement lacks a member, or has one that its kind does not allow. */
export class StatementProblem extends Error {}

const JWT = { alg: "ES256", typ: "JWT" };
/** Differs from the header of every other token that is signed with the same key. */
export const READ_ONLY_HEADER = { alg: "ES256", typ: "keystead-read-only" };
export const VERIFICATION_HEADER = JWT;

/** The part of a token that is signed, and precedes its signature. */
export function tokenInput(statement: TokenStatement): string {
  switch (statement.says) {
    case "session":
      return signingInput(JWT, membersOf(statement.claims, sessionMembers));
    case "readOnlySession":
      return signingInput(READ_ONLY_HEADER, membersOf(statement.claims, readOnlyMembers));
    case "verification":
      return signingInput(VERIFICATION_HEADER, membersOf(statement.claims, verificationMembers));
    case "identity": {
      const kid = idOf(statement.keyId);
      return signingInput({ alg: "ES256", kid, typ: "JWT" }, membersOf(statement.claims, identityMembers));
    }
  }
}

/** The text of a statement about the signer itself. */
export function ownText(says: "manifest" | "boot", description: SignerDescription): string {
  const { ephemeralPublicKey, startedAt, version, nodeVersion, protocolVersion, files, codeDigest } = description;
  const code = { version, nodeVersion, protocolVersion, files, codeDigest };
  const manifest = canonicalJson({ type: "KEYSTEAD_SIGNER_MANIFEST", ...code });
  if (says === "manifest") return manifest;
  const startedAtMs = String(startedAt);
  const manifestDigest = createHash("sha256").update(manifest).digest("hex");
  return canonicalJson({ type: "KEYSTEAD_SIGNER_BOOT", ephemeralPublicKey, startedAtMs, codeDigest, manifestDigest });
}

/** The text that is signed for an archive. */
export const archiveText = (statement: ArchiveStatement): string =>
  canonicalJson({ type: "KEYSTEAD_ARCHIVE", ...membersOf(statement, archiveMembers) });

/** The text of a bundle's envelope. */
export function bundleText(statement: Extract<Statement, { says: "export" | "target" }>): string {
  const { says, ...data } = statement;
  return JSON.stringify(membersOf(data, says === "export" ? exportMembers : targetMembers));
}

/**
 * The bytes to sign: EdDSA signs them directly, ECDSA signs their SHA-256.
 *
 * @param description the signer's description of itself
 * @throws StatementProblem
 */
export function spelled(statement: Statement, description: SignerDescription): Buffer {
  switch (statement.says) {
    case "export":
    case "target":
      return Buffer.from(bundleText(statement));
    case "delivery": {
      const { keyId, timestampMs, eventId, body } = membersOf(statement, deliveryMembers);
      return Buffer.from(`v1.ed25519.${idOf(keyId)}.${timestampMs}.${idOf(eventId)}.${body}`);
    }
    case "standardDelivery": {
      const { seconds, eventId, body } = membersOf(statement, standardDeliveryMembers);
      return Buffer.from(`${idOf(eventId)}.${seconds}.${body}`);
    }
    case "session":
      // Published clients verify a signature over a double SHA-256.
      return createHash("sha256").update(tokenInput(statement)).digest();
    case "readOnlySession":
    case "verification":
    case "identity":
      return Buffer.from(tokenInput(statement));
    case "provisioning":
      return Buffer.from(provisioningText(membersOf(statement, provisioningMembers)));
    case "archive": {
      const { says: _, ...archive } = statement;
      return Buffer.from(archiveText(archive));
    }
    case "manifest":
    case "boot":
      return Buffer.from(ownText(statement.says, description));
    default:
      throw new StatementProblem("the installation makes no such statement");
  }
}

type Member = "text" | "text?" | "integer" | "flag?";
type Members = Readonly<Record<string, Member>>;

const exportMembers = { encappedPublic: "text", ciphertext: "text", organizationId: "text" } as const;
const targetMembers = { targetPublic: "text", organizationId: "text", userId: "text?" } as const;
const deliveryMembers = {
  says: "text",
  keyId: "text",
  timestampMs: "integer",
  eventId: "text",
  body: "text",
} as const;
const standardDeliveryMembers = { says: "text", seconds: "integer", eventId: "text", body: "text" } as const;
const provisioningMembers = {
  says: "text",
  deploymentId: "text",
  manifestHash: "text",
  ephemeralPublicKey: "text",
} as const;
const archiveMembers = {
  installationId: "text",
  before: "integer",
  writtenAt: "integer",
  activities: "integer",
  sha256: "text",
} as const;
const sessionMembers = {
  exp: "integer",
  public_key: "text",
  session_type: "text",
  user_id: "text",
  organization_id: "text",
  session_profile_id: "text?",
  scope: "text?",
} as const;
const readOnlyMembers = {
  organizationId: "text",
  userId: "text",
  with: "text",
  key: "text",
  credentialId: "text",
  expiresAt: "integer",
} as const;
const verificationMembers = {
  id: "text",
  verification_type: "text",
  contact: "text",
  organization_id: "text",
  public_key: "text?",
  exp: "text",
} as const;
const identityMembers = {
  iss: "text",
  aud: "text",
  sub: "text",
  iat: "integer",
  exp: "integer",
  nonce: "text",
  email: "text?",
  email_verified: "flag?",
  encrypted_bearer_token: "text?",
} as const;

const types = { text: "string", "text?": "string", integer: "number", "flag?": "boolean" } as const;

/** The same members in their canonical order. @throws StatementProblem */
function membersOf<Said extends object>(said: Said, members: Members): Said {
  const given = said as Record<string, unknown>;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(members, name));
  if (unknown !== undefined) throw new StatementProblem(`a statement of its kind has no \`${unknown}\``);
  const entries = Object.entries(members).flatMap(([name, member]) => {
    const value = given[name];
    if (value === undefined && member.endsWith("?")) return [];
    if (typeof value !== types[member])
      throw new StatementProblem(`\`${name}\` of a statement is missing, or of another type`);
    if (member === "integer" && !Number.isSafeInteger(value)) throw new StatementProblem(`\`${name}\` is no integer`);
    return [[name, value]];
  });
  return Object.fromEntries(entries) as Said;
}

/** Ids are joined with dots, so they must not contain any. @throws StatementProblem */
function idOf(id: string): string {
  if (/^[0-9a-zA-Z-]{1,64}$/.test(id)) return id;
  throw new StatementProblem("an id in a statement has another form");
}
