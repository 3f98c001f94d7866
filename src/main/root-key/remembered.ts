import type { Reader, Transactor } from "../../storage/engine.ts";
import { NEXT_ROOT_KEY_ID, PREVIOUS_ROOT_KEY_ID, ROOT_KEY_ID } from "../../storage/installation-rows.ts";

/** The ids of root keys that the database remembers. */
export interface RememberedRootKeys {
  /** Seals the keys of organizations. */
  current: string;
  /** During a rotation: sealed them before, and may still seal some. */
  previous?: string;
  /** Before a rotation: the servers are to get ready for it. */
  next?: string;
}

/** Undefined in a database without an installation. */
export async function findRootKeys(read: Reader): Promise<RememberedRootKeys | undefined> {
  const rows = await read
    .selectFrom("installation")
    .selectAll()
    .where("name", "in", [ROOT_KEY_ID, PREVIOUS_ROOT_KEY_ID, NEXT_ROOT_KEY_ID])
    .execute();
  return rootKeysIn(new Map(rows.map(({ name, value }) => [name, value])));
}

export function rootKeysIn(installation: ReadonlyMap<string, string>): RememberedRootKeys | undefined {
  const current = installation.get(ROOT_KEY_ID);
  if (current === undefined) return undefined;
  const previous = installation.get(PREVIOUS_ROOT_KEY_ID);
  const next = installation.get(NEXT_ROOT_KEY_ID);
  return { current, ...(previous === undefined ? {} : { previous }), ...(next === undefined ? {} : { next }) };
}

/** Stores a row of `installation`; undefined deletes it. */
export async function storeInstallationRow(tx: Transactor, name: string, value: string | undefined): Promise<void> {
  if (value === undefined) {
    await tx.deleteFrom("installation").where("name", "=", name).execute();
    return;
  }
  await tx
    .insertInto("installation")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
