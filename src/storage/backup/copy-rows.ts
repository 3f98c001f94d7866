import type { CopyTarget } from "./copy-target.ts";
import { compare } from "./load.ts";
import { bytesOf, isSameRow, keyOf, PORTION_BYTES, PORTION_ROWS, type Row, type Table, Tally } from "./rows.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Progress } from "./write-file.ts";

/**
 * Makes the rows of the target equal to those of the source. An earlier run may have left rows of an older state of the source. Rows that
 * the source does not have, or has with other values, are deleted first, so that they do not violate unique constraints when new rows are
 * inserted. At the end, after the source is closed, all rows are read back and compared with what the source returned. Resolves to the
 * number of rows that were already there.
 *
 * @throws BackupProblem
 */
export async function copyRows(source: Snapshot, target: CopyTarget, onProgress: Progress): Promise<number> {
  const all = Object.values(source.counts).reduce((sum, count) => sum + count, 0);
  let done = 0;
  const tell = (rows: number) => {
    done += rows;
    onProgress(done, all);
  };
  let keptOfAll = 0;
  const tallies = new Map<Table, Tally>();
  for (const table of source.tables) {
    const kept = await takeOut(source, target, table, tell);
    keptOfAll += kept.count;
    const isWhole = kept.count === source.counts[table.name];
    tallies.set(table, isWhole ? kept : await putIn(source, target, table, tell));
  }
  await source.close();
  for (const [table, given] of tallies) await compare(table, target.reader.portionsOf(table), given);
  return keptOfAll;
}

/** Deletes rows that the source does not have or has with other values. Resolves to the tally of the remaining rows, as read from the source. */
async function takeOut(
  source: Snapshot,
  target: CopyTarget,
  table: Table,
  tell: (rows: number) => void,
): Promise<Tally> {
  const kept = new Tally();
  for await (const rows of target.reader.portionsOf(table)) {
    const keys = rows.map((row) => keyOf(table, row));
    const outdated: Row[] = [];
    const before = kept.count;
    let at = 0;
    for await (const found of source.reader.find(table, keys)) {
      for (const row of found) {
        if (row && isSameRow(row, rows[at] as Row)) kept.add(row);
        else outdated.push(keys[at] as Row);
        at++;
      }
    }
    if (outdated.length > 0) await target.write((writer) => writer.delete(table, outdated));
    tell(kept.count - before);
  }
  return kept;
}

/** Inserts the missing rows. Resolves to the tally of all rows that the source returned. */
async function putIn(source: Snapshot, target: CopyTarget, table: Table, tell: (rows: number) => void): Promise<Tally> {
  const given = new Tally();
  for await (const rows of portionsIn(source.reader.rowsOf(table))) {
    for (const row of rows) given.add(row);
    tell(await target.write((writer) => writer.insert(table, rows)));
  }
  return given;
}

async function* portionsIn(batches: AsyncGenerator<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let portion: Row[] = [];
  let bytes = 0;
  for await (const rows of batches) {
    portion.push(...rows);
    for (const row of rows) bytes += bytesOf(row);
    if (portion.length < PORTION_ROWS && bytes < PORTION_BYTES) continue;
    yield portion;
    [portion, bytes] = [[], 0];
  }
  if (portion.length > 0) yield portion;
}
