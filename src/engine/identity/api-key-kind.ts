import { isOver } from "../../authority/rules/credentials.ts";
import { type ApiKeyStamp, decodeApiKeyStamp, verifyApiKeyStamp } from "../../crypto/stamps.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { holdersKnownTo } from "../authority/known.ts";
import { allowlistFrom } from "./allowlists.ts";
import { type CredentialLookup, credentialKind, type Holder } from "./credential-kind.ts";
import { findHolders, holderOf, isAboutHolders, selectHolders } from "./holders.ts";
import { noteFirstUse } from "./seniority.ts";

export interface ApiKeyHolder extends Holder {
  /** Milliseconds; null for a lasting key. */
  expiresAt: number | null;
}

/** API keys: those that users registered, and expiring ones that a sign-in issued. */
export const apiKeyKind = credentialKind<ApiKeyStamp, ApiKeyHolder>({
  header: "x-stamp",
  kindsOfOperations: ["activity", "query", "vote"],
  decode: decodeApiKeyStamp,
  keyOf: ({ publicKey }) => publicKey,
  keyName: "public key",
  find: findApiKeyHolders,
  refuseUnknown: ({ organizationId, key: publicKey }) => fail("PUBLIC_KEY_NOT_FOUND", { organizationId, publicKey }),
  noteFirstUse: noteFirstUse("api_keys"),

  async verify(stamp, body, { actor }) {
    if (curveOfCredential(actor.credential.type) !== stamp.curve) {
      fail("API_KEY_SIGNATURE_INVALID", { reason: `the key is not registered for ${stamp.scheme}` });
    }
    if (!(await verifyApiKeyStamp(stamp, body))) {
      fail("API_KEY_SIGNATURE_INVALID", { reason: "the signature does not match the body" });
    }
  },

  refuseLapsed({ expiresAt }, { organizationId, key: publicKey }, now) {
    if (isOver(expiresAt, now)) fail("API_KEY_EXPIRED", { organizationId, publicKey });
  },

  recordOf: ({ publicKey, scheme, signatureAsSent }) => ({
    publicKey,
    scheme,
    signature: signatureAsSent.toString("hex"),
    assertion: null,
  }),
});

/** The curve of a credential type's keys; P-256 unless listed here. */
function curveOfCredential(type: string): string {
  if (type === "CREDENTIAL_TYPE_API_KEY_SECP256K1") return "API_KEY_CURVE_SECP256K1";
  if (type === "CREDENTIAL_TYPE_API_KEY_ED25519") return "API_KEY_CURVE_ED25519";
  return "API_KEY_CURVE_P256";
}

function findApiKeyHolders(read: Reader, lookup: CredentialLookup): Promise<readonly ApiKeyHolder[]> {
  return holdersKnownTo(read, "api_keys", lookup, () => askForHolders(read, lookup));
}

async function askForHolders(read: Reader, lookup: CredentialLookup): Promise<ApiKeyHolder[]> {
  const rows = await findHolders(read, "api_keys", lookup, selectApiKeyHolders);
  return rows.map(({ row, rank }) => {
    const ofKey = allowlistFrom(row.key_rules, row.key_on_evaluation_error);
    const credential = { type: row.credential_type, sessionProfileId: row.session_profile_id };
    return { ...holderOf({ row, rank }, credential, ofKey), expiresAt: row.expires_at };
  });
}

const selectApiKeyHolders = prepared<{ organizationId: string; key: string }>()(
  (db, { organizationId, key }) =>
    selectHolders(db, "api_keys as c")
      .where("o.id", "=", organizationId)
      .where("c.public_key", "=", key)
      // A key's list applies only if the organization has an enabled one; otherwise nothing is looked up.
      .leftJoin("ip_allowlists as k", (join) =>
        join.onRef("k.organization_id", "=", "a.organization_id").onRef("k.id", "=", "c.id"),
      )
      .select([
        "c.credential_type",
        "c.expires_at",
        "c.session_profile_id",
        "k.rules as key_rules",
        "k.on_evaluation_error as key_on_evaluation_error",
      ]),
  { isLasting: true, isTogether: true, sees: () => isAboutHolders },
);
