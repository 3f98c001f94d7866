import { type Expression, expressionBuilder, sql } from "kysely";
import { contactCredential } from "../../../authority/attested.ts";
import type { Contact, ContactType } from "../../../authority/state.ts";
import type { Transactor } from "../../../storage/engine.ts";
import { DatabaseFailure } from "../../../storage/failure.ts";
import { laterUpdate, preparedWrite } from "../../../storage/prepared.ts";
import type { Schema } from "../../../storage/schema.ts";
import { deleteRows, timesOf, updateRows } from "./rows.ts";
import { takeVotesBack } from "./votes.ts";
import type { Writers } from "./writers.ts";

/** What is to go is set to an empty text, which no contact is. */
const REMOVED = "";
const contactOf = (column: "email" | "phone_number") =>
  `nullif(coalesce("new"."${column}", "users"."${column}"), '${REMOVED}')`;

/** What is null stays as it is, what is empty goes. The version rises, so that nothing derived from the old state is used again. */
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

/** Raises the versions of users, of whose state something else was changed at these times. */
export async function touchUsers(
  tx: Transactor,
  organizationId: string,
  touched: ReadonlyMap<string, number>,
): Promise<void> {
  const unchanged = { name: null, email: null, phone_number: null };
  for (const [now, users] of Map.groupBy(touched, ([, now]) => now)) {
    const ids = users.map(([userId]) => userId);
    const [userId] = ids;
    // The common case, in a sign-in, is one user.
    if (ids.length === 1 && userId !== undefined) {
      await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...unchanged });
      continue;
    }
    await updateRows(tx, "users", { organizationId, ids }, { version: ofUser("version", "+", 1), updated_at: now });
  }
}

/** Who has no MFA policy is not asked for any: a user's row says how many there are. */
export const countMfaPolicies = (
  tx: Transactor,
  { organizationId, userId, more }: { organizationId: string; userId: string; more: number },
): Promise<void> =>
  updateRows(tx, "users", { organizationId, id: userId }, { mfa_policies: ofUser("mfa_policies", "+", more) });

/** The parent of an organization, or the organization itself where it has none. */
const rootIdOf = (organizationId: string | Expression<string>) =>
  sql<string>`(select coalesce(o.parent_id, o.id) from organizations o where o.id = ${organizationId})`;

/** Of a parent and all below it one user has a contact verified. */
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
      root_id: rootIdOf(organizationId),
      type,
      contact: value,
      organization_id: organizationId,
      user_id: userId,
      created_at: now,
    })
    .onConflict((conflict) => conflict.columns(["root_id", "type", "contact"]).doNothing())
    .returning("user_id"),
);

/** A contact is the same for whoever has it, and for who has it again. */
const stampsByContact = (userId: string, contact: Contact): string => `${userId} ${contactCredential(contact).id}`;

export const userWriters = {
  async addUser(tx, organizationId, { user }) {
    const { id, name, email, phoneNumber } = user;
    const row = { id, organization_id: organizationId, name, email, phone_number: phoneNumber, version: 1 };
    await tx
      .insertInto("users")
      .values({ ...row, ...timesOf(user), root_id: rootIdOf(organizationId) })
      .execute();
  },

  async changeUser(tx, organizationId, { userId, name = null, email, phoneNumber, now }) {
    const given = { name, email: contactToStore(email), phone_number: contactToStore(phoneNumber) };
    await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...given });
  },

  async verifyContact(tx, organizationId, { userId, contact, now }) {
    const inserted = await insertVerifiedContact(tx, { organizationId, userId, now, ...contact });
    // Another transaction verified it meanwhile, in an organization beside this one; the next try finds who has it.
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

  loseContact: (tx, organizationId, { userId, contact, now }) =>
    takeVotesBack(tx, organizationId, [{ id: stampsByContact(userId, contact) }], now),

  async removeUser(tx, organizationId, { userId, now }) {
    // What is theirs goes with the row.
    await deleteRows(tx, "users", { organizationId, id: userId });
    await takeVotesBack(tx, organizationId, [{ id: userId }], now);
  },
} satisfies Partial<Writers>;
