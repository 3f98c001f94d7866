import { sql } from "kysely";
import { decodeWebAuthnStamp, verifyWebAuthnStamp, type WebAuthnStamp } from "../../crypto/webauthn-assertion.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { holdersKnownTo } from "../authority/known.ts";
import { type CredentialLookup, credentialKind, type Holder } from "./credential-kind.ts";
import { findHolders, holderOf, isAboutHolders, selectHolders } from "./holders.ts";
import { isOriginsRule, originsOf } from "./passkey-origins.ts";
import { noteFirstUse } from "./seniority.ts";

export interface PasskeyHolder extends Holder {
  /** COSE_Key bytes (RFC 9052). */
  publicKey: Buffer;
  rpIdHash: Buffer;
  /** Undefined: any. */
  allowedOrigins: readonly string[] | undefined;
}

/** Passkeys: an assertion (WebAuthn Level 3, section 7.2) whose challenge is the body's digest. */
export const passkeyKind = credentialKind<WebAuthnStamp, PasskeyHolder>({
  header: "x-stamp-webauthn",
  kindsOfOperations: ["activity", "query", "vote"],
  decode: decodeWebAuthnStamp,
  keyOf: ({ credentialId }) => credentialId,
  keyName: "credential ID",
  find: findPasskeyHolders,
  refuseUnknown: ({ organizationId, key }) => fail("CREDENTIAL_NOT_FOUND", { organizationId, credentialId: key }),
  noteFirstUse: noteFirstUse("authenticators"),
  verify: (stamp, body, { publicKey, rpIdHash, allowedOrigins }) =>
    verifyWebAuthnStamp(stamp, body, { publicKey, rpIdHash, allowedOrigins }),
  // Passkeys do not expire.
  refuseLapsed: () => {},
  recordOf: ({ signature, authenticatorData, clientDataJson }, { publicKey }) => ({
    publicKey: publicKey.toString("hex"),
    scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN",
    signature: signature.toString("hex"),
    assertion: JSON.stringify({
      authenticatorData: authenticatorData.toString("base64url"),
      clientDataJson: clientDataJson.toString("base64url"),
    }),
  }),
});

function findPasskeyHolders(read: Reader, lookup: CredentialLookup): Promise<readonly PasskeyHolder[]> {
  return holdersKnownTo(read, "authenticators", lookup, () => askForHolders(read, lookup));
}

async function askForHolders(read: Reader, lookup: CredentialLookup): Promise<PasskeyHolder[]> {
  const rows = await findHolders(read, "authenticators", lookup, selectPasskeyHolders);
  return rows.map(({ row, rank }) => ({
    ...holderOf({ row, rank }, { type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR", sessionProfileId: null }),
    publicKey: Buffer.from(row.public_key),
    rpIdHash: Buffer.from(row.rp_id_hash),
    allowedOrigins: row.origins_rule === null ? undefined : originsOf(row.allowed_origins),
  }));
}

const selectPasskeyHolders = prepared<{ organizationId: string; key: string }>()(
  (db, { organizationId, key }) =>
    selectHolders(db, "authenticators as c")
      .where("o.id", "=", organizationId)
      .where(sql.ref("c.credential_id"), "=", key)
      .leftJoin("organization_features as f", (join) =>
        join.on((on) => isOriginsRule(on.fn.coalesce("o.parent_id", "o.id"))),
      )
      .select([
        sql.ref<Uint8Array>("c.public_key").as("public_key"),
        sql.ref<Uint8Array>("c.rp_id_hash").as("rp_id_hash"),
        "f.name as origins_rule",
        "f.value as allowed_origins",
      ]),
  { isLasting: true, isTogether: true, sees: () => isAboutHolders },
);
