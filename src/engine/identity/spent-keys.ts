import type { Reader } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { type ApiKeyHolder, apiKeyKind } from "./api-key-kind.ts";
import type { CredentialLookup } from "./credential-kind.ts";
import type { DecodedStamp } from "./credential-kinds.ts";
import { holderOf, selectParties } from "./holders.ts";

/**
 * Keys that were valid for one activity and are used up. A client that missed the answer sends the same body again, so until the key would
 * have expired, its stamp over that body is still accepted, and over no other body.
 */

const USAGE = "RECOVERY";

/** Records a key that was used up, among the used tokens; it is pruned with them. */
export const noteSpentKey = preparedWrite<{ organizationId: string; id: string; expiresAt: number }>()(
  (db, { organizationId, id, expiresAt }) =>
    db
      .insertInto("used_tokens")
      .values({ organization_id: organizationId, id, usage: USAGE, expires_at: expiresAt })
      .returning("id"),
);

/** The stamp of a request that uses its key up. If the key is not found, the user is looked up who had it and submitted this body. */
export function stampOfSpentKey({ kind, decoded }: DecodedStamp, fingerprint: string): DecodedStamp {
  if (kind.header !== apiKeyKind.header) return { kind, decoded };
  const find = async (read: Reader, lookup: CredentialLookup) => {
    const known = await kind.find(read, lookup);
    return known.length > 0 ? known : findSpent(read, lookup, fingerprint);
  };
  return { kind: { ...kind, find }, decoded };
}

async function findSpent(
  read: Reader,
  { organizationId, key: publicKey }: CredentialLookup,
  fingerprint: string,
): Promise<ApiKeyHolder[]> {
  const rows = await selectSpent(read, { organizationId, publicKey, fingerprint });
  return rows.map(({ expires_at: expiresAt, credential_id, credential_type, ...row }) => {
    const known = { actor_organization_id: row.organization_id, credential_id: credential_id ?? "", seniority: 0 };
    const credential = { type: credential_type ?? "", sessionProfileId: null };
    const holder = holderOf({ row: { ...row, ...known }, rank: 0 }, credential);
    return { ...holder, expiresAt };
  });
}

const selectSpent = prepared<{ organizationId: string; publicKey: string; fingerprint: string }>()(
  (db, { organizationId, publicKey, fingerprint }) =>
    selectParties(db)
      .innerJoin("activities as s", "s.organization_id", "o.id")
      .innerJoin("votes as v", (join) =>
        join
          .onRef("v.organization_id", "=", "s.organization_id")
          .onRef("v.activity_id", "=", "s.id")
          .onRef("v.user_id", "=", "u.id"),
      )
      .innerJoin("used_tokens as t", (join) =>
        join
          .onRef("t.organization_id", "=", "v.organization_id")
          .onRef("t.id", "=", "v.credential_id")
          .on("t.usage", "=", USAGE),
      )
      .where("o.id", "=", organizationId)
      .where("s.organization_id", "=", organizationId)
      .where("s.fingerprint", "=", fingerprint)
      .where("v.public_key", "=", publicKey)
      .select(["v.credential_id", "v.credential_type", "t.expires_at"]),
);
