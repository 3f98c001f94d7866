import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first user that the organization does not have */
export async function requireUsers(read: Reader, organizationId: string, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  const rows = await read
    .selectFrom("users")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...userIds])
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  const id = userIds.find((userId) => !known.has(userId));
  if (id !== undefined) fail("RESOURCE_NOT_FOUND", { kind: "user", id, organizationId });
}

export interface UserChange {
  name?: string;
  email?: string;
  phone_number?: string;
}

/**
 * Changes a user, or marks one as changed whose credentials or tags are: its version rises, so that nothing derived from
 * the old state is used again.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export async function changeUser(
  tx: Transactor,
  organizationId: string,
  userId: string,
  now: number,
  change: UserChange = {},
): Promise<void> {
  const { name = null, email = null, phone_number: phoneNumber = null } = change;
  const changed = await updateUser(tx, { organizationId, userId, name, email, phoneNumber, now });
  if (changed.length === 0) fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId });
}

/** What is null stays as it is. */
const updateUser = preparedWrite<{
  organizationId: string;
  userId: string;
  name: string | null;
  email: string | null;
  phoneNumber: string | null;
  now: number;
}>()((db, { organizationId, userId, name, email, phoneNumber, now }) =>
  db
    .updateTable("users")
    .set((user) => ({
      name: user.fn.coalesce(user.val(name), user.ref("name")),
      email: user.fn.coalesce(user.val(email), user.ref("email")),
      phone_number: user.fn.coalesce(user.val(phoneNumber), user.ref("phone_number")),
      version: user("version", "+", 1),
      updated_at: now,
    }))
    .where("organization_id", "=", organizationId)
    .where("id", "=", userId)
    .returning("id"),
);
