import { type Contact, contactAt, contactOf } from "../../authority/state.ts";
import { checkClientSignature } from "../../engine/keys/client-signatures.ts";
import {
  contactOfToken,
  refuseUsedToken,
  requireVerificationToken,
  type VerificationClaims,
} from "../../engine/keys/verification-tokens.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Intent } from "./model.ts";

export const TOKEN = "parameters.verificationToken";

/** The contact of a root user that the person who signs up has proven to have. */
export interface Shown {
  token: VerificationClaims;
  contact: Contact;
  /** The index of that root user in the request. */
  index: number;
}

/**
 * Checks the verification token of a sign-up. The parent must have issued it, and exactly one root user must have its contact. The key that it
 * names must have signed that user's credentials and contacts.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID, or FIELD_INVALID or FIELD_MISSING naming what is wrong
 */
export async function openSignup(
  read: Reader,
  organization: Organization,
  { verificationToken, clientSignature, rootUsers, takesTokensWithoutKey = false }: Intent,
  now: number,
): Promise<Shown | undefined> {
  if (!verificationToken) {
    if (!clientSignature) return undefined;
    return fail("FIELD_MISSING", { field: TOKEN });
  }
  const token = await requireVerificationToken(read, verificationToken, { organization, field: TOKEN, now });
  if (token.public_key === undefined && !takesTokensWithoutKey) {
    const reason = "it is not bound to a key; use a token that verify_otp issued for an encrypted code";
    fail("VERIFICATION_TOKEN_INVALID", { field: TOKEN, reason });
  }
  await refuseUsedToken(read, organization, token, { usage: "SIGNUP", field: TOKEN });
  const contact = contactOfToken(token);
  const contactIn = ({ userEmail = "", userPhoneNumber = "" }: Intent["rootUsers"][number]) =>
    contactOf(contact.type, contact.type === "EMAIL" ? userEmail : userPhoneNumber);
  const indexes = [...rootUsers.keys()].filter(
    (at) => contactAt(contactIn(rootUsers[at] as Intent["rootUsers"][number])) === contactAt(contact),
  );
  const [index] = indexes;
  if (index === undefined || indexes.length > 1) {
    const whose = index === undefined ? "no user" : "more than one user";
    fail("FIELD_INVALID", {
      field: TOKEN,
      reason: `proves ${contact.value}, which is the contact of ${whose} to be created`,
    });
  }
  const { apiKeys, authenticators, oauthProviders, ...user } = rootUsers[index] as Intent["rootUsers"][number];
  if (token.public_key !== undefined || clientSignature) {
    const { userEmail: email, userPhoneNumber: phoneNumber } = user;
    const signup = { apiKeys, authenticators, oauthProviders, email, phoneNumber };
    checkClientSignature(clientSignature, token, { type: "USAGE_TYPE_SIGNUP", signup });
  }
  return { token, contact, index };
}
