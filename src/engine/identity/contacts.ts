import { type Contact, contactOf } from "../../authority/state.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Organization } from "../operations.ts";
import { rootIdOf } from "./organizations.ts";

/** Finds users by contact: by a verified one among a parent's sub-organizations, or by any one in an organization. */

export interface VerifiedHolder {
  organizationId: string;
  userId: string;
}

const selectHolder = prepared<{ rootId: string; type: Contact["type"]; value: string }>()(
  (db, { rootId, type, value }) =>
    db
      .selectFrom("verified_contacts")
      .select(["organization_id as organizationId", "user_id as userId"])
      .where("root_id", "=", rootId)
      .where("type", "=", type)
      .where("contact", "=", value),
);

/** The only user with this verified contact, in the parent or any of its sub-organizations. */
export async function findVerifiedHolder(
  read: Reader,
  rootId: string,
  { type, value }: Contact,
): Promise<VerifiedHolder | undefined> {
  const [holder] = await selectHolder(read, { rootId, type, value });
  return holder;
}

/** A user, with their contact as stored. */
export interface Reached {
  userId: string;
  text: string;
}

/**
 * The users of an organization with a contact. If several have it, only the one who verified it, if there is one. Contacts are compared here
 * and not by the database, because databases disagree on lower case beyond ASCII; an organization has few users.
 */
export async function findUsersByContact(
  read: Reader,
  organization: Pick<Organization, "id" | "parentId">,
  contact: Contact,
): Promise<Reached[]> {
  const column = contact.type === "EMAIL" ? "email" : "phone_number";
  const rows = await read
    .selectFrom("users")
    .select(["id as userId", `${column} as text`])
    .where("organization_id", "=", organization.id)
    .where(column, "is not", null)
    .$narrowType<{ text: string }>()
    .execute();
  const users = rows.filter(({ text }) => contactOf(contact.type, text).value === contact.value);
  if (users.length < 2) return users;
  const holder = await findVerifiedHolder(read, rootIdOf(organization), contact);
  const verified = users.filter(({ userId }) => userId === holder?.userId);
  return verified.length > 0 ? verified : users;
}
