import type { Reader } from "../../storage/engine.ts";
import { NEXT_ROOT_KEY_ID, PREVIOUS_ROOT_KEY_ID, ROOT_KEY_ID } from "../../storage/installation-rows.ts";
import { StartProblem } from "../start-problem.ts";

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

/** @throws StartProblem if the database has no installation */
export async function requireRootKeys(read: Reader): Promise<RememberedRootKeys> {
  const remembered = await findRootKeys(read);
  if (remembered) return remembered;
  throw new StartProblem("the database remembers no root key yet; start the server once");
}

/** @throws StartProblem if the file lacks a root key that the database needs */
export function refuseOtherFile(file: string, ids: readonly string[], { current, previous }: RememberedRootKeys): void {
  const missing = [current, ...(previous === undefined ? [] : [previous])].filter((id) => !ids.includes(id));
  if (missing.length === 0) return;
  throw new StartProblem(
    `the root key file ${file} does not contain ${missing.join(" or ")}, with which keys in this database are sealed; nothing was changed`,
  );
}
