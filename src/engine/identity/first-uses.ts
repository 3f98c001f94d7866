import { MAX_OPEN_FIRST_USES } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Principal } from "./authenticate.ts";

/** Records the first use of a credential by a query. Activities record it in their own transactions. */
export type NoteFirstUse = (principal: Principal, now: number) => void;

/**
 * A query does not wait for a write, so the record is stored after its answer, once in the life of a credential. If it is lost, the next use
 * stores it.
 */
export function firstUses({ transact }: Pick<Database, "transact">): NoteFirstUse {
  const open = new Set<string>();
  return ({ isFirstUse, credentialKey: { kind }, actor: { organizationId, credential } }, now) => {
    const { id } = credential;
    if (!isFirstUse || open.has(id) || open.size >= MAX_OPEN_FIRST_USES) return;
    open.add(id);
    transact(organizationId, (tx) => kind.noteFirstUse(tx, { organizationId, id, now }))
      .catch(() => {})
      .finally(() => open.delete(id));
  };
}
