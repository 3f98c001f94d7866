import { closeSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Overwrites the first page of a table in a file that nobody has open, as a failing disk does. */
export function damageTable(file: string, table: string): void {
  const database = new DatabaseSync(file);
  // Nothing of the table must remain in the log.
  database.exec("pragma wal_checkpoint(truncate)");
  const { rootpage } = database.prepare("select rootpage from sqlite_master where name = ?").get(table) as {
    rootpage: number;
  };
  const { page_size: bytes } = database.prepare("pragma page_size").get() as { page_size: number };
  database.close();
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(bytes, 0xa5), 0, bytes, (rootpage - 1) * bytes);
  closeSync(descriptor);
}
