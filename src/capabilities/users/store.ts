import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";

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
