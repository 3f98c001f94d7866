import { expressionBuilder } from "kysely";
import { contactCredential } from "../../../authority/attested.ts";
import type { ContactType } from "../../../authority/state.ts";
import type { Transactor } from "../../../storage/engine.ts";
import { DatabaseFailure } from "../../../storage/failure.ts";
import { laterUpdate, preparedWrite } from "../../../storage/prepared.ts";
import type { Schema } from "../../../storage/schema.ts";
import { rootIdIn } from "../../identity/organizations.ts";
import { deleteRows, timesOf, updateRows } from "./rows.ts";
import { revokeVotes, timeOfLoss } from "./votes.ts";
import type { Writers } from "./writers.ts";

/** Stands for null, which means "unchanged" in the statement. No contact is empty. */
const REMOVED = "";
const contactOf = (column: "email" | "phone_number") =>
  `nullif(coalesce("new"."${column}", "users"."${column}"), '${REMOVED}')`;

/** Null leaves a column unchanged, an empty string clears it. The version is incremented, which invalidates everything cached for the user. */
const changedUsers = laterUpdate("users", {
  by: { organization_id: "text", id: "text" },
  given: { name: "text", email: "text", phone_number: "text", times: "integer", updated_at: "integer" },
  set: {
    name: 'coalesce("new"."name", "users"."name")',
    email: contactOf("email"),
    phone_number: contactOf("phone_number"),
    version: '"users"."version" + "new"."times"',
    updated_at: '"new"."updated_at"',
  },
  merged: (before, after) => ({
    ...after,
    name: after.name ?? before.name,
    email: after.email ?? before.email,
    phone_number: after.phone_number ?? before.phone_number,
    times: (before.times ?? 0) + (after.times ?? 0),
  }),
});

const changedUser = (organizationId: string, userId: string, now: number) => ({
  organization_id: organizationId,
  id: userId,
  times: 1,
  updated_at: now,
});

const contactToStore = (given: string | null | undefined): string | null =>
  given === undefined ? null : (given ?? REMOVED);

const ofUser = expressionBuilder<Schema, "users">();

/** Increments the versions of users whose state in other tables was changed at these times. */
export async function touchUsers(
  tx: Transactor,
  organizationId: string,
  touched: ReadonlyMap<string, number>,
): Promise<void> {
  const unchanged = { name: null, email: null, phone_number: null };
  for (const [now, users] of Map.groupBy(touched, ([, now]) => now)) {
    const ids = users.map(([userId]) => userId);
    const [userId] = ids;
    // One user is the common case, as in a sign-in.
    if (ids.length === 1 && userId !== undefined) {
      await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...unchanged });
      continue;
    }
    await updateRows(tx, "users", { organizationId, ids }, { version: ofUser("version", "+", 1), updated_at: now });
  }
}

/** Updates the number of MFA policies in a user's row. If it is zero, none are read. */
export const countMfaPolicies = (
  tx: Transactor,
  { organizationId, userId, more }: { organizationId: string; userId: string; more: number },
): Promise<void> =>
  updateRows(tx, "users", { organizationId, id: userId }, { mfa_policies: ofUser("mfa_policies", "+", more) });

/** At most one user of a parent and its sub-organizations has verified a contact. */
const insertVerifiedContact = preparedWrite<{
  organizationId: string;
  userId: string;
  type: ContactType;
  value: string;
  now: number;
}>()((db, { organizationId, userId, type, value, now }) =>
  db
    .insertInto("verified_contacts")
    .values({
      root_id: rootIdIn(organizationId),
      type,
      contact: value,
      organization_id: organizationId,
      user_id: userId,
      created_at: now,
    })
    .onConflict((conflict) => conflict.columns(["root_id", "type", "contact"]).doNothing())
    .returning("user_id"),
);

export const userWriters = {
  async addUser(tx, organizationId, { user }) {
    const { id, name, email, phoneNumber } = user;
    const row = { id, organization_id: organizationId, name, email, phone_number: phoneNumber, version: 1 };
    await tx
      .insertInto("users")
      .values({ ...row, ...timesOf(user), root_id: rootIdIn(organizationId) })
      .execute();
  },

  async changeUser(tx, organizationId, { userId, name = null, email, phoneNumber, now }) {
    const given = { name, email: contactToStore(email), phone_number: contactToStore(phoneNumber) };
    await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...given });
  },

  async verifyContact(tx, organizationId, { userId, contact, now }) {
    const inserted = await insertVerifiedContact(tx, { organizationId, userId, now, ...contact });
    // Another transaction verified it meanwhile, in another sub-organization of the parent. The retry finds who has it.
    if (inserted.length === 0) throw new DatabaseFailure("retry", "the contact is taken");
  },

  async unverifyContact(tx, organizationId, { userId, contact }) {
    await tx
      .deleteFrom("verified_contacts")
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", userId)
      .where("type", "=", contact.type)
      .execute();
  },

  async loseContact(tx, organizationId, { userId, contact, now }) {
    const { id: credentialId } = contactCredential(contact);
    const lostAt = await timeOfLoss(tx, { organizationId, userId, credentialId }, now);
    // The id includes the user, because others may have or get the same contact.
    await revokeVotes(tx, organizationId, [{ id: `${userId} ${credentialId}` }], lostAt);
  },

  async removeUser(tx, organizationId, { userId, now }) {
    // Everything that belongs to them is deleted with the row.
    await deleteRows(tx, "users", { organizationId, id: userId });
    await revokeVotes(tx, organizationId, [{ id: userId }], now);
  },
} satisfies Partial<Writers>;
