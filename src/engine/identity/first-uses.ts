import { MAX_OPEN_FIRST_USES } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Principal } from "./authenticate.ts";

/** Notes that a credential was used to read; activities note it in their own transactions. */
export type NoteFirstUse = (principal: Principal, now: number) => void;

/**
 * A query writes nothing and waits for no write: the note follows it, once in the life of a credential. One that is lost is
 * made at the next use.
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
