import { MAX_HOLDERS } from "../../kernel/limits.ts";
import type { TokenClaims } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { CredentialLookup } from "./credential-kind.ts";
import type { Db } from "./holders.ts";

/** Whom an OIDC token leads to: the users who are known as what it claims, whether it is true or not. */

export interface KnownProvider {
  /** Of the OAuth provider. */
  id: string;
  organizationId: string;
  userId: string;
}

/** Those of the organization, and where it has none, and the look-up reaches so far, those below it. */
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
    // Asked of each row: a join may begin with all the sub-organizations that there are.
    .where((row) =>
      row(
        row.selectFrom("organizations as o").select("o.parent_id").whereRef("o.id", "=", "p.organization_id"),
        "=",
        claimed.organizationId,
      ),
    )
    .limit(MAX_HOLDERS),
);
