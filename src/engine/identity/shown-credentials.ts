import { contactCredential, isAttested, isContact } from "../../authority/attested.ts";
import type { ShownCredential } from "../../authority/parties.ts";
import { contactOf } from "../../authority/state.ts";
import type { User } from "./users.ts";

/** Credentials as stamps show them: those that are registered, and what a token attests. */

/** The contacts of a user, as stamps show them. */
export const contactCredentialsOf = ({ userEmail, userPhoneNumber }: User): { id: string; type: string }[] => [
  ...(userEmail === undefined ? [] : [contactCredential(contactOf("EMAIL", userEmail))]),
  ...(userPhoneNumber === undefined ? [] : [contactCredential(contactOf("PHONE_NUMBER", userPhoneNumber))]),
];

/** Stamps by credentials of one name show the same thing, whichever key a token is bound to. */
export const nameOfCredential = ({ id, type, publicKey }: ShownCredential): string =>
  isAttested(type) ? `${type} ${id}` : publicKey;

/** Whether it is a contact that the user no longer has. What has an id of its own is taken back by that when it goes. */
export const isLost = ({ id, type }: ShownCredential, user: User | undefined): boolean =>
  isContact(type) && !(user && contactCredentialsOf(user).some((known) => known.id === id));
