import type { TagType } from "../../../authority/state.ts";
import { byId, byStatement, type Loaders } from "./loaders.ts";

/** The relation of tags and members: sorted ids of one side by the id of the other. */
function membersBy(of: "tag_id" | "member_id") {
  const other = of === "tag_id" ? "member_id" : "tag_id";
  return (rows: readonly { tag_id: string; member_id: string }[]): Map<string, string[]> => {
    const groups = Map.groupBy(rows, (row) => row[of]);
    return new Map([...groups].map(([id, members]) => [id, members.map((row) => row[other]).sort()]));
  };
}

const carriersIn = (table: "user_tag_members" | "private_key_tag_members") =>
  byStatement(
    (db, organizationId, tagIds) =>
      db
        .selectFrom(table)
        .select(["tag_id", "member_id"])
        .where("organization_id", "=", organizationId)
        .where("tag_id", "in", tagIds),
    membersBy("tag_id"),
  );
const userCarriers = carriersIn("user_tag_members");
const privateKeyCarriers = carriersIn("private_key_tag_members");

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
  tagsOfUser: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("user_tag_members")
          .select(["tag_id", "member_id"])
          .where("organization_id", "=", organizationId)
          .where("member_id", "in", userIds),
      membersBy("member_id"),
    ),
  },
  tagsOfPrivateKey: {
    absent: [],
    load: byStatement(
      (db, organizationId, keyIds) =>
        db
          .selectFrom("private_key_tag_members")
          .select(["tag_id", "member_id"])
          .where("organization_id", "=", organizationId)
          .where("member_id", "in", keyIds),
      membersBy("member_id"),
    ),
  },
} satisfies Partial<Loaders>;
