import { type Kysely, type RawBuilder, sql } from "kysely";
import type { ActivityStatus } from "../../engine/activities/rows.ts";
import type { Page } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_USER_ACTIVITIES_LOOKED_THROUGH } from "../../kernel/limits.ts";
import type { DatabaseKind, Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";

/** Finds the activities of a page. */

interface ActivityFilter {
  organizationId: string;
  /** Empty means any. */
  types: readonly string[];
  statuses: readonly ActivityStatus[];
}

/** Bounds below and above every id in any collation: ids begin with a hexadecimal digit. */
const BELOW_ALL = "";
const ABOVE_ALL = "g";

const selectIds = (order: "asc" | "desc") =>
  prepared<{ organizationId: string; below: string; above: string; limit: number }>()(
    (db, { organizationId, below, above, limit }) =>
      db
        .selectFrom("activities")
        .select("id")
        .where("organization_id", "=", organizationId)
        .where("id", "<", below)
        .where("id", ">", above)
        .orderBy("id", order)
        .limit(limit),
  );

const any = { asc: selectIds("asc"), desc: selectIds("desc") };

/**
 * The ids of the activities nearest to the page's cursor, nearest first.
 *
 * The nearest ids of each combination of type and status are read from the index and merged, so a filter that matches almost nothing costs no
 * more than one that matches everything. One statement reads them all, so an activity whose status changes meanwhile is listed once, under
 * its old status.
 */
export async function findIdsOnPage(
  read: Reader,
  { organizationId, types, statuses }: ActivityFilter,
  { limit, before = ABOVE_ALL, after }: Page,
): Promise<string[]> {
  const order = after === undefined ? "desc" : "asc";
  const range = { organizationId, below: before, above: after ?? BELOW_ALL, limit };
  if (types.length === 0 && statuses.length === 0) return (await any[order](read, range)).map(({ id }) => id);
  const list = (items: readonly string[]) => (read.kind === "postgres" ? items : JSON.stringify(items));
  const filter = { types: list(types), statuses: list(statuses) };
  const found = await matching[read.kind][order](read, { ...range, ...filter });
  const ids = found.map(({ id }) => id).sort();
  return (order === "asc" ? ids : ids.reverse()).slice(0, limit);
}

type Filtered = {
  organizationId: string;
  /** Both lists: an array for PostgreSQL, JSON for SQLite. */
  types: readonly string[] | string;
  statuses: readonly string[] | string;
  below: string;
  above: string;
  limit: number;
};

/** Whether a column is in a list. The list is one parameter, whatever its length; an empty list matches anything. */
const isOneOf: Record<DatabaseKind, (column: string, list: unknown) => RawBuilder<boolean>> = {
  sqlite: (column, list) =>
    sql`(json_array_length(${list}) = 0 or ${sql.ref(column)} in (select value from json_each(${list})))`,
  postgres: (column, list) => sql`(cardinality(${list}::text[]) = 0 or ${sql.ref(column)} = any(${list}::text[]))`,
};

/** A column of the next pair of type and status in the index after `there`. The step costs the same however many activities a pair has. */
const next = (column: "type" | "status", organizationId: string) => sql`(
  select ${sql.ref(column)} from activities
  where organization_id = ${organizationId} and (type, status) > (there.type, there.status)
  order by type, status limit 1
)`;

/** The activity of one type and status that is nearest to the end of the range at which `order` begins. */
const nearest = (
  order: "asc" | "desc",
  kind: "there" | "near",
  { organizationId, below, above }: Record<"organizationId" | "below" | "above", unknown>,
) => sql`(
  select one.id from activities as one
  where one.organization_id = ${organizationId}
    and one.type = ${sql.ref(`${kind}.type`)} and one.status = ${sql.ref(`${kind}.status`)}
    and one.id < ${below} and one.id > ${above}
  order by one.id ${sql.raw(order)} limit 1
)`;

/**
 * `there`: the pairs of type and status that the organization's activities have. `near`: for each pair that passes the filter, up to a page of
 * activities, one step at a time.
 */
const selectMatching = (database: DatabaseKind, order: "asc" | "desc") =>
  prepared<Filtered>()((db, { organizationId, types, statuses, below, above, limit }) => {
    const range = { organizationId, below, above };
    const beyond = { ...range, [order === "asc" ? "above" : "below"]: sql.ref("near.id") };
    return db
      .selectFrom(
        sql<{ id: string }>`(
          with recursive there (type, status) as (
            select * from (
              select type, status from activities where organization_id = ${organizationId} order by type, status limit 1
            ) as one
            union all
            select ${next("type", organizationId)}, ${next("status", organizationId)} from there where type is not null
          ), near (type, status, id, place) as (
            select type, status, ${nearest(order, "there", range)}, 1 from there
            where type is not null and ${isOneOf[database]("type", types)} and ${isOneOf[database]("status", statuses)}
            union all
            select type, status, ${nearest(order, "near", beyond)}, place + 1 from near
            where id is not null and place < ${limit}
          )
          select id from near where id is not null
        )`.as("found"),
      )
      .select("id");
  });

const matching = {
  sqlite: { asc: selectMatching("sqlite", "asc"), desc: selectMatching("sqlite", "desc") },
  postgres: { asc: selectMatching("postgres", "asc"), desc: selectMatching("postgres", "desc") },
};

/**
 * The same for the activities that a user submitted or voted on. With further filters, only a bounded number of the user's activities from the
 * cursor on is searched; `isCut` says that there are more beyond these.
 */
export async function findIdsOfUser(
  read: Reader,
  { organizationId, types, statuses, userId }: ActivityFilter & { userId: string },
  { limit, before = ABOVE_ALL, after }: Page,
): Promise<{ ids: string[]; isCut: boolean }> {
  const order = after === undefined ? "desc" : "asc";
  const isAny = types.length === 0 && statuses.length === 0;
  const list = (items: readonly string[]) => (read.kind === "postgres" ? items : JSON.stringify(items));
  const range = { organizationId, userId, below: before, above: after ?? BELOW_ALL };
  const walked = isAny ? limit : MAX_USER_ACTIVITIES_LOOKED_THROUGH;
  const filter = { types: list(types), statuses: list(statuses) };
  const found = await ofUser[read.kind][order](read, { ...range, ...filter, walked, limit });
  const ids = found.map(({ id }) => id);
  if (isAny || ids.length === limit) return { ids, isCut: false };
  return { ids, isCut: (await beyondWalk[order](read, { ...range, walked })).length > 0 };
}

type Walk = { organizationId: string; userId: string; below: string; above: string; walked: number };

const walk = (order: "asc" | "desc", db: Pick<Kysely<Schema>, "selectFrom">, of: Omit<Walk, "walked">) =>
  db
    .selectFrom("votes")
    .select("activity_id as id")
    .where("organization_id", "=", of.organizationId)
    .where("user_id", "=", of.userId)
    .where("activity_id", "<", of.below)
    .where("activity_id", ">", of.above)
    .orderBy("activity_id", order);

const selectOfUser = (database: DatabaseKind, order: "asc" | "desc") =>
  prepared<Walk & Pick<Filtered, "types" | "statuses" | "limit">>()(
    (db, { organizationId, userId, below, above, types, statuses, walked, limit }) =>
      db
        .selectFrom(walk(order, db, { organizationId, userId, below, above }).limit(walked).as("near"))
        .innerJoin("activities as a", (join) =>
          join.on("a.organization_id", "=", organizationId).onRef("a.id", "=", "near.id"),
        )
        .select("near.id as id")
        .where(isOneOf[database]("a.type", types))
        .where(isOneOf[database]("a.status", statuses))
        .orderBy("near.id", order)
        .limit(limit),
  );

const ofUser = {
  sqlite: { asc: selectOfUser("sqlite", "asc"), desc: selectOfUser("sqlite", "desc") },
  postgres: { asc: selectOfUser("postgres", "asc"), desc: selectOfUser("postgres", "desc") },
};

const selectBeyond = (order: "asc" | "desc") =>
  prepared<Walk>()((db, { organizationId, userId, below, above, walked }) =>
    walk(order, db, { organizationId, userId, below, above }).offset(walked).limit(1),
  );

const beyondWalk = { asc: selectBeyond("asc"), desc: selectBeyond("desc") };

/** Requires a user that the organization has, or had. @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireUserOrVotes(read: Reader, organizationId: string, id: string): Promise<void> {
  const of = { organizationId, id };
  if ((await selectUser(read, of)).length > 0 || (await selectVote(read, of)).length > 0) return;
  fail("RESOURCE_NOT_FOUND", { kind: "user", id, organizationId });
}

type UserOf = { organizationId: string; id: string };

const selectUser = prepared<UserOf>()((db, { organizationId, id }) =>
  db.selectFrom("users").select("id").where("organization_id", "=", organizationId).where("id", "=", id),
);

const selectVote = prepared<UserOf>()((db, { organizationId, id }) =>
  db
    .selectFrom("votes")
    .select("activity_id as id")
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", id)
    .limit(1),
);
