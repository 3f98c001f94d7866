import { type OauthProvider, providerAt } from "../../authority/state.ts";
import type { Draft } from "../../authority/view.ts";
import type { Reach } from "../../engine/identity/credential-kind.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { findProviders } from "../../engine/identity/providers.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail, KeysteadError } from "../../kernel/errors.ts";
import { nonceOfPublicKey } from "../../providers/oidc/nonce.ts";
import { readToken, type TokenClaims } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";

/** Finds the user of an organization that an OIDC token identifies. */

const field = "parameters.oidcToken";

/** A user, and the OAuth provider by which the token identifies them. */
export interface Person {
  userId: string;
  provider: Pick<OauthProvider, "issuer" | "audience" | "subject">;
}

interface Showing extends Pick<Services, "oidc"> {
  read: Reader;
  organization: Organization;
  /** Whether the token's user may also be in a sub-organization. By default, only the organization itself is searched. */
  reach?: Reach;
}

/**
 * The organization of the only user that a token identifies: in the organization itself or, if it has no such user, in its sub-organizations. The
 * token is not verified yet. Undefined if it cannot be read, or if it identifies no user or several.
 */
export async function findOrganizationOf(
  read: Reader,
  { id: organizationId }: Pick<Organization, "id">,
  oidcToken: string,
): Promise<string | undefined> {
  const claims = readClaims(oidcToken);
  const known = claims ? await findProviders(read, claims, { organizationId, reach: "subOrganizations" }) : [];
  return known.length === 1 ? known[0]?.organizationId : undefined;
}

function readClaims(oidcToken: string): TokenClaims | undefined {
  try {
    return readToken(oidcToken, (reason) => fail("OIDC_TOKEN_INVALID", { field, reason })).claims;
  } catch (error) {
    if (error instanceof KeysteadError) return undefined;
    throw error;
  }
}

/**
 * Verifies a token that is bound to this public key, exactly as the client sent the key, and finds its user. A token can be used repeatedly until
 * it expires, but only for that key.
 *
 * @throws KeysteadError OIDC_TOKEN_INVALID, or CREDENTIAL_AMBIGUOUS if it identifies users of several sub-organizations
 */
export async function findPerson(
  { oidc, read, organization, reach = "organization" }: Showing,
  oidcToken: string,
  publicKey: string,
): Promise<Person> {
  const expectedNonce = nonceOfPublicKey(publicKey);
  const { iss, aud, sub } = await oidc.verify(oidcToken, {
    field,
    expectedNonce,
    organizationId: rootIdOf(organization),
  });
  const where = { organizationId: organization.id, reach };
  const [known, ...others] = await findProviders(read, { iss, aud, sub }, where);
  if (others.length > 0) fail("CREDENTIAL_AMBIGUOUS", { kind: "OAuth provider" });
  const provider = { issuer: iss, audience: aud, subject: sub };
  return known?.organizationId === organization.id ? { userId: known.userId, provider } : refuseUnknown(provider);
}

/**
 * Checks that the provider was not deleted while the token was verified.
 *
 * @throws KeysteadError OIDC_TOKEN_INVALID
 */
export function requirePerson(draft: Draft, { userId, provider }: Person): void {
  const at = providerAt(provider);
  if (!draft.part("oauthProviders", userId).some((known) => providerAt(known) === at)) refuseUnknown(provider);
}

const refuseUnknown = ({ issuer, audience }: Person["provider"]): never =>
  fail("OIDC_TOKEN_INVALID", {
    field,
    reason: `belongs to nobody in this organization: no user has an OAuth provider with its \`sub\`, the issuer ${issuer} and the audience ${audience}. Add one with create_oauth_providers, or name the organization that has it`,
  });
