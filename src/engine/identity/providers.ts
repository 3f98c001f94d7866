import { MAX_HOLDERS } from "../../kernel/limits.ts";
import type { TokenClaims } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { CredentialLookup } from "./credential-kind.ts";
import type { Db } from "./holders.ts";

/** Finds users by the claims of an OIDC token, whether or not the token is valid. */

export interface KnownProvider {
  /** The id of the OAuth provider. */
  id: string;
  organizationId: string;
  userId: string;
}

/** The matching providers of the organization, or if there are none and the reach includes them, those of its sub-organizations. */
export async function findProviders(
  read: Reader,
  { iss, aud, sub }: Pick<TokenClaims, "iss" | "aud" | "sub">,
  { organizationId, reach }: Pick<CredentialLookup, "organizationId" | "reach">,
): Promise<KnownProvider[]> {
  const named = await selectProviders(read, { organizationId, iss, aud, sub });
  const isBelow = named.length === 0 && reach === "subOrganizations";
  return isBelow ? selectProvidersBelow(read, { organizationId, iss, aud, sub }) : named;
}

type Claimed = { organizationId: string; iss: string; aud: string; sub: string };

const selectClaimed = (db: Db, { iss, aud, sub }: Claimed) =>
  db
    .selectFrom("oauth_providers as p")
    .select(["p.id", "p.organization_id as organizationId", "p.user_id as userId"])
    .where("p.subject", "=", sub)
    .where("p.issuer", "=", iss)
    .where("p.audience", "=", aud);

const selectProviders = prepared<Claimed>()((db, claimed) =>
  selectClaimed(db, claimed).where("p.organization_id", "=", claimed.organizationId),
);

const selectProvidersBelow = prepared<Claimed>()((db, claimed) =>
  selectClaimed(db, claimed)
    // A condition per row, because the planner might start a join with all sub-organizations.
    .where((row) =>
      row(
        row.selectFrom("organizations as o").select("o.parent_id").whereRef("o.id", "=", "p.organization_id"),
        "=",
        claimed.organizationId,
      ),
    )
    .limit(MAX_HOLDERS),
);
