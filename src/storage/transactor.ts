import type { Kysely } from "kysely";
import type { Batch } from "./batch.ts";
import type { DatabaseKind, Known, LaterWrite, Query, Reader, StoredRow, Transactor } from "./engine.ts";
import type { AfterCommit, OpenTransaction } from "./group-commit.ts";
import type { Schema } from "./schema.ts";

/** The handle for one function of a transaction; unusable once the function ends. */
export function transactorOn(
  kind: DatabaseKind,
  batch: Batch,
  kysely: Kysely<Schema>,
  committed: Reader,
  lock: (batch: Batch, scope: string) => Promise<unknown>,
): ReturnType<OpenTransaction["transactor"]> {
  let open = true;
  const afterCommit: AfterCommit[] = [];
  const whileOpen = <F extends (...args: never[]) => unknown>(method: F): F =>
    ((...args: never[]) => {
      if (!open) throw ended();
      return method.apply(kysely, args);
    }) as F;
  const tx: Transactor = {
    kind,
    selectFrom: whileOpen(kysely.selectFrom as never) as Transactor["selectFrom"],
    insertInto: whileOpen(kysely.insertInto as never) as Transactor["insertInto"],
    updateTable: whileOpen(kysely.updateTable as never) as Transactor["updateTable"],
    deleteFrom: whileOpen(kysely.deleteFrom as never) as Transactor["deleteFrom"],
    all: (query) => {
      if (!open) throw ended();
      return batch.ask(query);
    },
    later: whileOpen((into: LaterWrite, row: StoredRow) => batch.later(into, row)) as Transactor["later"],
    known: whileOpen((of: Known<unknown>) => batch.known(of)) as Transactor["known"],
    changing: whileOpen((of: Known<unknown>, write: (known: unknown) => Promise<unknown>) =>
      batch.changing(of, write),
    ) as Transactor["changing"],
    committed,
    last: whileOpen((query: Query) => batch.last(query)) as Transactor["last"],
    lock: whileOpen((scope: string) => lock(batch, scope)) as Transactor["lock"],
    afterCommit: whileOpen((follow: AfterCommit) => void afterCommit.push(follow)) as Transactor["afterCommit"],
  };
  return {
    tx,
    afterCommit,
    end: () => {
      open = false;
    },
  };
}

const ended = (): Error => new Error("this transaction has ended");
