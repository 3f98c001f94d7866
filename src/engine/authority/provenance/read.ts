import { AUTHORITY_LARGE_ROWS_AT_ONCE, AUTHORITY_ROWS_AT_ONCE, AUTHORITY_STRETCH } from "../../../kernel/limits.ts";
import { archivedBeforeName } from "../../activities/archived.ts";
import { storedIntent } from "../../activities/bodies.ts";
import { operatorActivityTypes } from "../../activities/operator-activities.ts";
import type { Operation } from "../../operations.ts";
import type { SqlReader } from "../consistency.ts";
import type { Fact, KnownInvitation } from "./facts.ts";
import { factsOfOperations } from "./facts-of-operations.ts";
import { type ClaimingRow, type Source, textsIn } from "./source.ts";

/** Reads rows of authority, and the facts in completed activities, in pages. */

export interface Reading {
  database: SqlReader;
  operations: readonly Operation[];
  /** An organization and its sub-organizations. Default: all organizations. */
  organizationId?: string | undefined;
  /** Called before each page; throws to stop reading. */
  beforePage: () => void;
}

/** The rows of one table, with their claims. */
export async function* readRows(reading: Reading, source: Source): AsyncGenerator<ClaimingRow[]> {
  const { select, key, areLarge, claimsOf } = source;
  const size = areLarge ? AUTHORITY_LARGE_ROWS_AT_ONCE : AUTHORITY_ROWS_AT_ONCE;
  const wanted = { select, key, where: rowsWithin(reading), size };
  for await (const rows of readPages(reading, wanted)) yield rows.map(claimsOf);
}

export interface FactsOfActivity {
  organizationId: string;
  facts: readonly Fact[];
  /** When it was completed, in milliseconds. */
  at: number;
}

/** The number of completed activities that affect authority, counted up to one more than `most`. */
export async function countActivitiesWithFacts(
  { database, operations }: Pick<Reading, "database" | "operations">,
  most: number,
): Promise<number> {
  const completed = completedOf([...readersOf(operations).keys()]);
  const [row] = await database.all<{ count: number }>(
    `select cast(count(*) as integer) as count from (select 1 as one from activities t where ${completed.sql} limit ${most + 1}) c`,
  );
  return row?.count ?? 0;
}

/** Whether there are more than `most` activities of any kind; only reads the index. */
export async function areMoreActivitiesThan({ all }: SqlReader, most: number): Promise<boolean> {
  return (await all(`select 1 as one from activities t limit 1 offset ${most}`)).length > 0;
}

/** The facts in completed activities: in all that affect authority, or only in those of these operations. */
export async function* readActivities(
  reading: Reading,
  ofPaths?: ReadonlySet<string>,
): AsyncGenerator<FactsOfActivity[]> {
  const readers = readersOf(reading.operations);
  const types = [...readers].flatMap(([type, { path }]) => (ofPaths?.has(path) === false ? [] : [type]));
  const within = ofPaths ? rowsWithin(reading) : activitiesOn(reading);
  for await (const stretch of stretchesOf(reading, within)) {
    const where = [completedOf(types), ...within, ...stretch];
    const wanted = { select: ACTIVITIES, key: ACTIVITY_KEY, where, size: AUTHORITY_LARGE_ROWS_AT_ONCE };
    for await (const rows of readPages<ActivityRow>(reading, wanted)) {
      const invitations = await invitationsIn(reading, rows);
      yield rows.map((row) => {
        const reader = readers.get(row.type) as ActivityReader;
        return { organizationId: row.organization_id, at: row.updated_at, facts: factsIn(row, reader, invitations) };
      });
    }
  }
}

/**
 * Divides all activities into ranges of a fixed number of rows, by the index. Without ranges, a page of the few relevant activities could take
 * as long as there are others between them.
 */
async function* stretchesOf(
  { database, beforePage }: Pick<Reading, "database" | "beforePage">,
  within: readonly Condition[],
): AsyncGenerator<Condition[]> {
  const columns = ACTIVITY_KEY.map((column) => `t.${column}`).join(", ");
  let from: Condition[] = [];
  for (;;) {
    beforePage();
    const { sql, parameters } = all([...within, ...from]);
    const [last] = await ask<Record<string, unknown>>(
      database,
      `select ${columns} from activities t ${sql} order by ${columns} limit 1 offset ${AUTHORITY_STRETCH - 1}`,
      parameters,
    );
    if (!last) return yield from;
    yield [...from, keyThat("<=", ACTIVITY_KEY, last)];
    from = [keyThat(">", ACTIVITY_KEY, last)];
  }
}

const ACTIVITY_KEY = ["organization_id", "id"];

const keyThat = (compares: ">" | "<=", key: readonly string[], row: Record<string, unknown>): Condition => ({
  sql: `(${key.map((column) => `t.${column}`).join(", ")}) ${compares} (${key.map(() => "?").join(", ")})`,
  parameters: key.map((column) => row[column]),
});

/** The facts in an activity. One that cannot be parsed has none, and must not prevent the others from being read. */
function factsIn(
  row: ActivityRow,
  { path, upgrade }: ActivityReader,
  invitations: ReadonlyMap<string, KnownInvitation>,
): readonly Fact[] {
  const { organization_id: organizationId, updated_at: at } = row;
  try {
    const intent = upgrade(intentIn(row));
    const result = onlyMemberOf(JSON.parse(row.result ?? "{}"));
    return (
      factsOfOperations[path]?.({ organizationId, at, intent, result, invitation: (id) => invitations.get(id) }) ?? []
    );
  } catch {
    return [];
  }
}

const ACTIVITIES = "select t.organization_id, t.id, t.type, t.intent, t.body, t.result, t.updated_at from activities t";

interface ActivityRow {
  organization_id: string;
  id: string;
  type: string;
  intent: string;
  body: string | null;
  result: string | null;
  updated_at: number;
}

const intentIn = ({ intent, body }: Pick<ActivityRow, "intent" | "body">): unknown =>
  onlyMemberOf(storedIntent(body ?? undefined, JSON.parse(intent) as Record<string, unknown>));

/** The value of an intent or result, which is an object with a single key. */
const onlyMemberOf = (value: Record<string, unknown>): unknown => Object.values(value)[0];

/** The operation of an activity type, and how to upgrade its intent to the newest version. */
interface ActivityReader {
  path: string;
  upgrade: (intent: unknown) => unknown;
}

function readersOf(operations: readonly Operation[]): ReadonlyMap<string, ActivityReader> {
  const known = operations.flatMap((operation): [string, ActivityReader][] => {
    if (operation.kind !== "activity" || factsOfOperations[operation.path] === undefined) return [];
    return [...operation.versions].map(([type, { upgrade }]) => [type, { path: operation.path, upgrade }]);
  });
  const byOperators = operatorActivityTypes.filter((type) => factsOfOperations[type] !== undefined);
  return new Map([
    ...known,
    ...byOperators.map((path): [string, ActivityReader] => [path, { path, upgrade: (intent) => intent }]),
  ]);
}

/** The invitations of users who accepted one: only the invitation's row has the user's address and tags. */
async function invitationsIn(
  { database }: Reading,
  rows: readonly ActivityRow[],
): Promise<ReadonlyMap<string, KnownInvitation>> {
  const accepted = rows.filter(({ type }) => type === "ACTIVITY_TYPE_ACCEPT_INVITATION");
  const known = new Map<string, KnownInvitation>();
  for (const [organizationId, activities] of Map.groupBy(accepted, (row) => row.organization_id)) {
    const ids = activities.flatMap(invitationIn);
    if (ids.length === 0) continue;
    const sql = `select id, receiver_email, receiver_tag_ids from invitations
      where organization_id = ? and id in (${ids.map(() => "?").join(", ")})`;
    const found = await ask<{ id: string; receiver_email: string; receiver_tag_ids: string }>(database, sql, [
      organizationId,
      ...ids,
    ]);
    for (const { id, receiver_email: email, receiver_tag_ids: tagIds } of found) {
      known.set(id, { email, tagIds: textsIn<string[]>(tagIds, (list) => list) });
    }
  }
  return known;
}

function invitationIn(row: ActivityRow): string[] {
  try {
    const { invitationId } = intentIn(row) as { invitationId: unknown };
    return typeof invitationId === "string" ? [invitationId] : [];
  } catch {
    return [];
  }
}

/** When an API key was added to the organization, in milliseconds; undefined if it has no such key. */
export async function findKeyTime(
  { database }: Pick<Reading, "database">,
  organizationId: string,
  publicKey: string,
): Promise<number | undefined> {
  const sql = "select created_at from api_keys where organization_id = ? and public_key = ?";
  const [key] = await ask<{ created_at: number }>(database, sql, [organizationId, publicKey]);
  return key?.created_at;
}

/** The time before which completed activities may be archived, in milliseconds. */
export async function findArchivedBefore({ database }: Pick<Reading, "database">): Promise<number> {
  const sql = "select value from installation where name = ?";
  const [row] = await ask<{ value: string }>(database, sql, [archivedBeforeName]);
  return Number(row?.value ?? 0);
}

interface Condition {
  sql: string;
  parameters: readonly unknown[];
}

const all = (conditions: readonly Condition[]): Condition => ({
  sql: conditions.length === 0 ? "" : `where ${conditions.map(({ sql }) => sql).join(" and ")}`,
  parameters: conditions.flatMap(({ parameters }) => parameters),
});

const completedOf = (types: readonly string[]): Condition => ({
  sql: `t.status = 'ACTIVITY_STATUS_COMPLETED' and t.type in (${types.map((type) => `'${type}'`).join(", ")})`,
  parameters: [],
});

const rowsWithin = ({ organizationId: id }: Reading): Condition[] =>
  id === undefined
    ? []
    : [
        {
          sql: "t.organization_id in (select w.id from organizations w where w.id = ? or w.parent_id = ?)",
          parameters: [id, id],
        },
      ];

/** Conditions on an organization's activities, and on its parent's, which create sub-organizations and may act in them. */
const activitiesOn = ({ organizationId: id }: Reading): Condition[] =>
  id === undefined
    ? []
    : [
        {
          sql: `t.organization_id in (select w.id from organizations w where w.id = ? or w.parent_id = ?
            or w.id = (select c.parent_id from organizations c where c.id = ?))`,
          parameters: [id, id, id],
        },
      ];

async function* readPages<Row>(
  { database, beforePage }: Reading,
  { select, key, where, size }: { select: string; key: readonly string[]; where: readonly Condition[]; size: number },
): AsyncGenerator<Row[]> {
  const columns = key.map((column) => `t.${column}`).join(", ");
  let from: Condition[] = [];
  for (;;) {
    beforePage();
    const { sql, parameters } = all([...where, ...from]);
    const rows = await ask<Row>(database, `${select} ${sql} order by ${columns} limit ${size}`, parameters);
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    const last = rows.at(-1) as Record<string, unknown>;
    from = [keyThat(">", key, last)];
  }
}

/** Runs a query; PostgreSQL's placeholders are numbered. */
function ask<Row>({ kind, all }: SqlReader, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  let place = 0;
  return all<Row>(kind === "sqlite" ? sql : sql.replaceAll("?", () => `$${++place}`), parameters);
}
