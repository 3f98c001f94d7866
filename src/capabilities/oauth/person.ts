import { type OauthProvider, providerAt } from "../../authority/state.ts";
import type { Draft } from "../../authority/view.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import { nonceOfPublicKey } from "../../providers/oidc/nonce.ts";
import type { Reader } from "../../storage/engine.ts";

/** Whom an OIDC token shows, among the users of an organization. */

const field = "parameters.oidcToken";

/** A user, and the OAuth provider by which the token shows them. */
export interface Person {
  userId: string;
  provider: Pick<OauthProvider, "issuer" | "audience" | "subject">;
}

interface Showing extends Pick<Services, "oidc"> {
  read: Reader;
  organization: Organization;
}

/**
 * Verifies a token that is bound to this public key, letter by letter as the client sent it, and finds whom it shows. A token
 * serves as often as it is brought until it expires, for that key alone.
 *
 * @throws KeysteadError OIDC_TOKEN_INVALID
 */
export async function findPerson(
  { oidc, read, organization }: Showing,
  oidcToken: string,
  publicKey: string,
): Promise<Person> {
  const expectedNonce = nonceOfPublicKey(publicKey);
  const { iss, aud, sub } = await oidc.verify(oidcToken, { field, expectedNonce, organizationId: organization.id });
  const holder = await read
    .selectFrom("oauth_providers")
    .select("user_id")
    .where("organization_id", "=", organization.id)
    .where("issuer", "=", iss)
    .where("audience", "=", aud)
    .where("subject", "=", sub)
    .executeTakeFirst();
  const provider = { issuer: iss, audience: aud, subject: sub };
  return holder ? { userId: holder.user_id, provider } : refuseUnknown(provider);
}

/**
 * The provider may have been deleted while the token was verified.
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
    reason: `is of nobody in this organization: no user has an OAuth provider with its \`sub\`, the issuer ${issuer} and the audience ${audience}. Add one by create_oauth_providers, or name the organization that has it`,
  });
