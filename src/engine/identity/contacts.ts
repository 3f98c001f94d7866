import { type Contact, contactOf } from "../../authority/state.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Organization } from "../operations.ts";
import { rootIdOf } from "./organizations.ts";

/** Whom contacts lead to: who has one verified below a parent, and who has it in an organization. */

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

/** The one user who has this contact verified, in the parent or in any organization below it. */
export async function findVerifiedHolder(
  read: Reader,
  rootId: string,
  { type, value }: Contact,
): Promise<VerifiedHolder | undefined> {
  const [holder] = await selectHolder(read, { rootId, type, value });
  return holder;
}

/** A user, and their contact as it stands there. */
export interface Reached {
  userId: string;
  text: string;
}

/**
 * The users of an organization with a contact; of several the one alone who has it verified, if there is one. Databases differ in what
 * lower case is beyond ASCII, so they are not asked; an organization has few users.
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
