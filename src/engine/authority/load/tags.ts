import type { TagType } from "../../../authority/state.ts";
import { byId, byStatement, type Loaders } from "./loaders.ts";

/** The relation of tags and members: a loader of the sorted ids of one side by the id of the other. */
function membershipsBy(by: "tag_id" | "member_id", table: "user_tag_members" | "private_key_tag_members") {
  const other = by === "tag_id" ? "member_id" : "tag_id";
  return byStatement(
    (db, organizationId, ids) =>
      db
        .selectFrom(table)
        .select(["tag_id", "member_id"])
        .where("organization_id", "=", organizationId)
        .where(by, "in", ids),
    (rows) => {
      const groups = Map.groupBy(rows, (row) => row[by]);
      return new Map([...groups].map(([id, members]) => [id, members.map((row) => row[other]).sort()]));
    },
  );
}

const userCarriers = membershipsBy("tag_id", "user_tag_members");
const privateKeyCarriers = membershipsBy("tag_id", "private_key_tag_members");

export const tagLoaders = {
  tag: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db.selectFrom("tags").selectAll().where("organization_id", "=", organizationId).where("id", "in", ids),
      byId(({ id, type, name, created_at: createdAt, updated_at: updatedAt }) => ({
        id,
        type,
        name,
        createdAt,
        updatedAt,
      })),
    ),
  },
  carriers: {
    absent: [],
    async load(read, organizationId, ids) {
      // A tag has one type, so only one of the tables has rows for it.
      const ofUsers = await userCarriers(read, organizationId, ids);
      return new Map([...ofUsers, ...(await privateKeyCarriers(read, organizationId, ids))]);
    },
  },
  tagCount: {
    absent: 0,
    load: byStatement(
      (db, organizationId, types) =>
        db
          .selectFrom("tags")
          .select((eb) => ["type", eb.fn.countAll<number>().as("count")])
          .where("organization_id", "=", organizationId)
          .where("type", "in", types as TagType[])
          .groupBy("type"),
      (rows) => new Map(rows.map(({ type, count }) => [type, count])),
    ),
  },
  tagsOfUser: { absent: [], load: membershipsBy("member_id", "user_tag_members") },
  tagsOfPrivateKey: { absent: [], load: membershipsBy("member_id", "private_key_tag_members") },
} satisfies Partial<Loaders>;
