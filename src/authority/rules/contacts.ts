import { fail } from "../../kernel/errors.ts";
import { otpMethods } from "../attested.ts";
import { type Contact, type ContactType, contactAt, contactOf } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { hasLastingCredential, type NewOauthProvider } from "./credentials.ts";

/**
 * Verified contacts: those at which users have proven to receive messages. A sign-in that names no organization finds users by verified
 * contacts only, so that nobody can capture another person's sign-in by entering their address.
 */

/**
 * Marks a user's contact as verified.
 *
 * @throws KeysteadError FIELD_INVALID if another user below the same parent has verified it; `field` names the field of the proof
 */
export function verifyContact(draft: Draft, userId: string, contact: Contact, now: number, field: string): void {
  const holder = draft.part("contactHolder", contactAt(contact));
  if (holder === userId) return;
  if (holder !== undefined) {
    const reason = `shows ${contact.value}, which is the verified contact of another user of this organization, its parent or an organization below its parent; remove or change it there first`;
    fail("FIELD_INVALID", { field, reason });
  }
  draft.apply({ do: "verifyContact", userId, contact, now });
}

/** Whether the user has this contact, verified or not. */
export const hasContact = (view: AuthorityView, userId: string, { type, value }: Contact): boolean =>
  ownContact(view, userId, type)?.value === value;

function ownContact(view: AuthorityView, userId: string, type: ContactType): Contact | undefined {
  const user = view.part("user", userId);
  const own = type === "EMAIL" ? user?.email : user?.phoneNumber;
  return typeof own === "string" ? contactOf(type, own) : undefined;
}

/** Tokens of this issuer contain the person's email address, which the issuer hosts or has verified. */
export const GOOGLE_ISSUER = "https://accounts.google.com";

type Shown = Pick<NewOauthProvider, "issuer" | "verifiedEmail">;

/** The verified address in a provider's token, if it is the user's own. */
function ownAddress(draft: Draft, userId: string, { issuer, verifiedEmail }: Shown): Contact | undefined {
  if (issuer !== GOOGLE_ISSUER || verifiedEmail === undefined) return undefined;
  const contact = contactOf("EMAIL", verifiedEmail);
  return hasContact(draft, userId, contact) ? contact : undefined;
}

/**
 * Marks the user's address as verified if an OIDC token of Google's says so.
 *
 * @throws KeysteadError as `verifyContact`; `field` names the providers' field in the request
 */
export function verifyShownContacts(
  draft: Draft,
  userId: string,
  providers: readonly Shown[],
  now: number,
  field: string,
): void {
  for (const [index, provider] of providers.entries()) {
    const contact = ownAddress(draft, userId, provider);
    if (contact) verifyContact(draft, userId, contact, now, `${field}.${index}.oidcToken`);
  }
}

/**
 * A parent may add a provider to a sub-organization's user if Google's token proves, by the user's own address, that it is the same person;
 * the providers of that person for the parent's other apps are accepted with it. Tokens for an app of anybody else are refused: whoever runs
 * that app receives such tokens from the person and could sign in as the user.
 *
 * @throws KeysteadError FIELD_INVALID; `field` names the providers' field in the request
 */
export function refuseOtherAddresses(
  draft: Draft,
  userId: string,
  providers: readonly (Shown & Pick<NewOauthProvider, "subject" | "isOwnApp">)[],
  field: string,
): void {
  const own = providers.filter((provider) => ownAddress(draft, userId, provider)).map(({ subject }) => subject);
  const other = providers.findIndex(
    ({ issuer, subject, isOwnApp }) => issuer !== GOOGLE_ISSUER || !own.includes(subject) || !isOwnApp,
  );
  if (other < 0) return;
  const reason =
    "is not a proof that a parent may submit: that requires a token from Google, for one of the parent's own apps, with the user's verified address";
  fail("FIELD_INVALID", { field: `${field}.${other}.oidcToken`, reason });
}

/** For contacts that change: removes the verification and revokes the votes made with codes sent to them. Undefined means unchanged. */
export function releaseChanged(
  draft: Draft,
  userId: string,
  given: Record<ContactType, string | null | undefined>,
  now: number,
): void {
  for (const type of ["EMAIL", "PHONE_NUMBER"] as const) {
    const next = given[type];
    if (next === undefined) continue;
    const own = ownContact(draft, userId, type);
    if (own === undefined) continue;
    if (next !== null && contactOf(type, next).value === own.value) continue;
    draft.apply({ do: "loseContact", userId, contact: own, now });
    const verified = draft.part("verifiedContacts", userId).find((contact) => contact.type === type);
    if (verified) draft.apply({ do: "unverifyContact", userId, contact: verified });
  }
}

/**
 * Checks, after a contact was removed, that its user is not locked out.
 *
 * @throws KeysteadError VALID_CREDENTIAL_MISSING if they could never sign in again, or FIELD_INVALID if an MFA policy of theirs requires codes
 * sent to it; `field` names the field of the removal in the request
 */
export function requireWithoutContact(view: AuthorityView, userId: string, type: ContactType, field: string): void {
  const asked = view.part("mfaPolicies", userId).flatMap(({ requiredMethods }) => requiredMethods);
  if (asked.some(({ any }) => any.some((method) => method.type === otpMethods[type]))) {
    const reason = `is where an MFA policy of the user requires codes to be sent (${otpMethods[type]}); change that policy first`;
    fail("FIELD_INVALID", { field, reason });
  }
  const user = view.part("user", userId);
  const hasContact = Boolean(user?.email ?? user?.phoneNumber);
  const canSignIn = hasContact || view.part("oauthProviders", userId).length > 0;
  if (!canSignIn && !hasLastingCredential(view, userId)) fail("VALID_CREDENTIAL_MISSING", { user: userId });
}
