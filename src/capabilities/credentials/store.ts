import {
  type AnyCredentialTable,
  type CredentialRow,
  credentialsOf,
  credentialsOfUsers,
  credentialWithId,
} from "../../engine/identity/credential-rows.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { requireUsers } from "../users/store.ts";

/** The credentials of one kind of a user, or of the whole organization if none is named, the oldest first. */
export async function listCredentials<Table extends AnyCredentialTable>(
  read: Reader,
  table: Table,
  organizationId: string,
  userId: string | undefined,
): Promise<CredentialRow<Table>[]> {
  if (userId !== undefined) await requireUsers(read, organizationId, [userId]);
  const rows = await (userId === undefined
    ? credentialsOf(read, table, organizationId)
    : credentialsOfUsers(read, table, organizationId, [userId])
  ).execute();
  return rows.sort(oldestFirst);
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireCredential<Table extends AnyCredentialTable>(
  read: Reader,
  table: Table,
  organizationId: string,
  { kind, id }: { kind: string; id: string },
): Promise<CredentialRow<Table>> {
  const [row] = await credentialWithId(read, table, organizationId, id).execute();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind, id, organizationId });
}
