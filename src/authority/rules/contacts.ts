import { fail } from "../../kernel/errors.ts";
import { otpMethods } from "../attested.ts";
import { type Contact, type ContactType, contactAt, contactOf } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { hasLastingCredential, type NewOauthProvider } from "./credentials.ts";

/**
 * Contacts that users have shown to receive what is sent to. Whoever signs in without naming an organization is found by them
 * alone, so that nobody catches the login of another by writing their address down.
 */

/**
 * Notes that the user has shown to receive what is sent to their contact.
 *
 * @throws KeysteadError FIELD_INVALID where another user below the same parent has it verified; `field` is what shows it
 */
export function verifyContact(draft: Draft, userId: string, contact: Contact, now: number, field: string): void {
  const holder = draft.part("contactHolder", contactAt(contact));
  if (holder === userId) return;
  if (holder !== undefined) {
    const reason = `shows ${contact.value}, which is the verified contact of another user of this organization, its parent or one below that; it has to be removed or changed there first`;
    fail("FIELD_INVALID", { field, reason });
  }
  draft.apply({ do: "verifyContact", userId, contact, now });
}

/** Whether the contact stands in the user, verified or not. */
export const hasContact = (view: AuthorityView, userId: string, { type, value }: Contact): boolean =>
  ownContact(view, userId, type)?.value === value;

function ownContact(view: AuthorityView, userId: string, type: ContactType): Contact | undefined {
  const user = view.part("user", userId);
  const own = type === "EMAIL" ? user?.email : user?.phoneNumber;
  return typeof own === "string" ? contactOf(type, own) : undefined;
}

/** A token of this issuer says whose address it is, and the issuer hosts or has checked it. */
export const GOOGLE_ISSUER = "https://accounts.google.com";

type Shown = Pick<NewOauthProvider, "issuer" | "verifiedEmail">;

/** The address that a provider shows, where it is the user's own. */
function ownAddress(draft: Draft, userId: string, { issuer, verifiedEmail }: Shown): Contact | undefined {
  if (issuer !== GOOGLE_ISSUER || verifiedEmail === undefined) return undefined;
  const contact = contactOf("EMAIL", verifiedEmail);
  return hasContact(draft, userId, contact) ? contact : undefined;
}

/**
 * What OIDC tokens say of a person's address counts where Google says so and it is the user's own.
 *
 * @throws KeysteadError as `verifyContact`; `field` is where the providers stand in the request
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
 * A parent lets a sub-organization's user sign in as somebody else knows them, where Google shows that it is the user by their own
 * address; what the parent's other apps know of that person at Google comes along. What anybody else's app knows does not: whoever
 * runs it could sign in as the user, with the token that the person gives to it.
 *
 * @throws KeysteadError FIELD_INVALID; `field` is where the providers stand in the request
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
    "is no proof that a parent may bring: that takes a token of Google with the verified address that the user has, and apps of the parent's own alone";
  fail("FIELD_INVALID", { field: `${field}.${other}.oidcToken`, reason });
}

/** Takes the mark from contacts that become others, and the votes given with codes to them back; what is undefined stays. */
export function releaseChanged(
  draft: Draft,
  userId: string,
  given: Record<ContactType, string | null | undefined>,
  now: number,
): void {
  for (const type of ["EMAIL", "PHONE_NUMBER"] as const) {
    const next = given[type];
    const own = ownContact(draft, userId, type);
    if (next === undefined || own === undefined) continue;
    if (next !== null && contactOf(type, next).value === own.value) continue;
    draft.apply({ do: "loseContact", userId, contact: own, now });
    const verified = draft.part("verifiedContacts", userId).find((contact) => contact.type === type);
    if (verified) draft.apply({ do: "unverifyContact", userId, contact: verified });
  }
}

/**
 * Whether a user can do without a contact, asked once it is gone.
 *
 * @throws KeysteadError VALID_CREDENTIAL_MISSING for one who could never come back, or FIELD_INVALID where an MFA policy of theirs
 * asks for codes that are sent there; `field` is where the removal stands in the request
 */
export function requireWithoutContact(view: AuthorityView, userId: string, type: ContactType, field: string): void {
  const asked = view.part("mfaPolicies", userId).flatMap(({ requiredMethods }) => requiredMethods);
  if (asked.some(({ any }) => any.some((method) => method.type === otpMethods[type]))) {
    const reason = `is what an MFA policy of the user asks for codes to (${otpMethods[type]}); change that policy first`;
    fail("FIELD_INVALID", { field, reason });
  }
  const user = view.part("user", userId);
  const hasContact = Boolean(user?.email ?? user?.phoneNumber);
  const canSignIn = hasContact || view.part("oauthProviders", userId).length > 0;
  if (!canSignIn && !hasLastingCredential(view, userId)) fail("VALID_CREDENTIAL_MISSING", { user: userId });
}
