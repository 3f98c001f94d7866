import { ALL, contactAt } from "../../../authority/state.ts";
import { rootIdIn } from "../../identity/organizations.ts";
import { byId, byStatement, byUserInOrder, countOf, type Loaders } from "./loaders.ts";

export const userLoaders = {
  user: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("users")
          .select(["id", "name", "email", "phone_number", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      byId(({ id, name, email, phone_number: phoneNumber, created_at: createdAt, updated_at: updatedAt }) => ({
        id,
        name,
        email,
        phoneNumber,
        createdAt,
        updatedAt,
      })),
    ),
  },
  userCount: countOf("users"),
  verifiedContacts: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("verified_contacts")
          .select(["user_id", "type", "contact"])
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds)
          .orderBy("type"),
      byUserInOrder(({ type, contact: value }) => ({ type, value })),
    ),
  },
  contactHolder: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, contacts) =>
        db
          .selectFrom("verified_contacts")
          .select(["type", "contact", "user_id"])
          .where("root_id", "=", rootIdIn(organizationId))
          .where("contact", "in", contacts),
      (rows) => new Map(rows.map(({ type, contact, user_id }) => [contactAt({ type, value: contact }), user_id])),
      (place) => place.slice(place.indexOf(" ") + 1),
    ),
  },
  isBelowParent: {
    absent: false,
    load: byStatement(
      (db, organizationId) => db.selectFrom("organizations").select("parent_id").where("id", "=", organizationId),
      (rows) => new Map(rows.map(({ parent_id }) => [ALL, parent_id !== null])),
    ),
  },
} satisfies Partial<Loaders>;
