import { sql } from "kysely";
import { decodeWebAuthnStamp, verifyWebAuthnStamp, type WebAuthnStamp } from "../../crypto/webauthn-assertion.ts";
import { parseOrigins } from "../../crypto/webauthn-data.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { type CredentialLookup, credentialKind, type Holder } from "./credential-kind.ts";
import { type Db, holderOf, onlyOne, ownFirst, selectHolders } from "./holders.ts";

interface PasskeyHolder extends Holder {
  /** COSE_Key bytes (RFC 9052). */
  publicKey: Buffer;
  rpIdHash: Buffer;
  /** Undefined: any. */
  allowedOrigins: string[] | undefined;
}

/** Passkeys: an assertion (WebAuthn Level 3, section 7.2) whose challenge is the body's digest. */
export const passkeyKind = credentialKind<WebAuthnStamp, PasskeyHolder>({
  header: "x-stamp-webauthn",
  nouns: ["activity", "query", "vote"],
  decode: decodeWebAuthnStamp,
  keyOf: ({ credentialId }) => credentialId,
  find: findPasskeyHolder,
  verify: (stamp, body, { publicKey, rpIdHash, allowedOrigins }) =>
    verifyWebAuthnStamp(stamp, body, { publicKey, rpIdHash, allowedOrigins }),
  // It lasts until it is deleted.
  refuseLapsed: () => {},
  recordOf: ({ signature }, { publicKey }) => ({
    publicKey: publicKey.toString("hex"),
    scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN",
    signature: signature.toString("hex"),
  }),
});

async function findPasskeyHolder(
  read: Reader,
  { organizationId, key: credentialId, reach }: CredentialLookup,
): Promise<PasskeyHolder> {
  const rows = await selectPasskeyHolders(read, { organizationId, credentialId });
  const row =
    ownFirst(rows, organizationId) ??
    (reach === "subOrganizations"
      ? onlyOne(await selectSubOrganizationPasskeyHolders(read, { organizationId, credentialId }), "credential ID")
      : undefined);
  if (!row) return fail("CREDENTIAL_NOT_FOUND", { organizationId, credentialId });
  return {
    ...holderOf(row, { type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR", sessionProfileId: null }),
    publicKey: Buffer.from(row.public_key),
    rpIdHash: Buffer.from(row.rp_id_hash),
    // A rule that cannot be read allows nothing.
    allowedOrigins: row.origins_rule === null ? undefined : (parseOrigins(row.allowed_origins ?? "") ?? []),
  };
}

type IdLookup = { organizationId: string; credentialId: string };

const passkeyHolders = (db: Db, { credentialId }: IdLookup) =>
  selectHolders(db, "authenticators as c")
    .where(sql.ref("c.credential_id"), "=", credentialId)
    // A parent's rule on origins holds for its sub-organizations.
    .leftJoin("organization_features as f", (join) =>
      join
        .on((on) => on("f.organization_id", "=", on.fn.coalesce("o.parent_id", "o.id")))
        .on("f.name", "=", "FEATURE_NAME_WEBAUTHN_ORIGINS"),
    )
    .select([
      sql.ref<Uint8Array>("c.public_key").as("public_key"),
      sql.ref<Uint8Array>("c.rp_id_hash").as("rp_id_hash"),
      "f.name as origins_rule",
      "f.value as allowed_origins",
    ]);

const selectPasskeyHolders = prepared<IdLookup>()((db, lookup) =>
  passkeyHolders(db, lookup).where("o.id", "=", lookup.organizationId),
);
const selectSubOrganizationPasskeyHolders = prepared<IdLookup>()((db, lookup) =>
  passkeyHolders(db, lookup)
    .where("o.parent_id", "=", lookup.organizationId)
    .whereRef("c.organization_id", "=", "o.id")
    .limit(2),
);
