import { contactCredential, isAttested, isContact } from "../../authority/attested.ts";
import type { ShownCredential } from "../../authority/parties.ts";
import { contactOf } from "../../authority/state.ts";
import type { User } from "./user-schemas.ts";

/** Credentials that stamps prove: registered ones, and contacts that a token attests. */

/** The contacts of a user, in the form of credentials. */
export const contactCredentialsOf = ({ userEmail, userPhoneNumber }: User): { id: string; type: string }[] => [
  ...(userEmail === undefined ? [] : [contactCredential(contactOf("EMAIL", userEmail))]),
  ...(userPhoneNumber === undefined ? [] : [contactCredential(contactOf("PHONE_NUMBER", userPhoneNumber))]),
];

/** Stamps whose credentials have the same name prove the same thing, whichever key a token is bound to. */
export const nameOfCredential = ({ id, type, publicKey }: ShownCredential): string =>
  isAttested(type) ? `${type} ${id}` : publicKey;

/** Whether it is a contact that the user no longer has. Votes by credentials with an id are revoked by that id instead. */
export const isLost = ({ id, type }: ShownCredential, user: User | undefined): boolean =>
  isContact(type) && !(user && contactCredentialsOf(user).some((known) => known.id === id));
