import type { Static } from "typebox";
import { timestampOf } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_TAGS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Tag } from "./model.ts";

/** Tags of users and of private keys: one set of rules, two tables of members. */
export interface TagKind {
  type: "TAG_TYPE_USER" | "TAG_TYPE_PRIVATE_KEY";
  /** In errors. */
  tagLabel: string;
  memberLabel: string;
  memberTable: "users" | "private_keys";
  membersOf: (tx: Transactor, organizationId: string) => Members;
}

/** The rows that say which members a tag has. */
interface Members {
  ofTag(tagId: string): Promise<string[]>;
  add(tagId: string, memberId: string): Promise<void>;
  remove(tagId: string, memberId: string): Promise<void>;
  removeMember(memberId: string): Promise<void>;
}

export const userTags: TagKind = {
  type: "TAG_TYPE_USER",
  tagLabel: "user tag",
  memberLabel: "user",
  memberTable: "users",
  membersOf: (tx, organization_id) => ({
    async ofTag(tag_id) {
      const rows = await tx
        .selectFrom("user_tag_members")
        .select("user_id")
        .where("organization_id", "=", organization_id)
        .where("tag_id", "=", tag_id)
        .orderBy("user_id")
        .execute();
      return rows.map(({ user_id }) => user_id);
    },
    async add(tag_id, user_id) {
      const row = { organization_id, tag_id, user_id };
      await tx
        .insertInto("user_tag_members")
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async remove(tag_id, user_id) {
      await tx
        .deleteFrom("user_tag_members")
        .where("organization_id", "=", organization_id)
        .where("tag_id", "=", tag_id)
        .where("user_id", "=", user_id)
        .execute();
    },
    async removeMember(user_id) {
      await tx
        .deleteFrom("user_tag_members")
        .where("organization_id", "=", organization_id)
        .where("user_id", "=", user_id)
        .execute();
    },
  }),
};

export const privateKeyTags: TagKind = {
  type: "TAG_TYPE_PRIVATE_KEY",
  tagLabel: "private key tag",
  memberLabel: "private key",
  memberTable: "private_keys",
  membersOf: (tx, organization_id) => ({
    async ofTag(tag_id) {
      const rows = await tx
        .selectFrom("private_key_tag_members")
        .select("private_key_id")
        .where("organization_id", "=", organization_id)
        .where("tag_id", "=", tag_id)
        .orderBy("private_key_id")
        .execute();
      return rows.map(({ private_key_id }) => private_key_id);
    },
    async add(tag_id, private_key_id) {
      const row = { organization_id, tag_id, private_key_id };
      await tx
        .insertInto("private_key_tag_members")
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async remove(tag_id, private_key_id) {
      await tx
        .deleteFrom("private_key_tag_members")
        .where("organization_id", "=", organization_id)
        .where("tag_id", "=", tag_id)
        .where("private_key_id", "=", private_key_id)
        .execute();
    },
    async removeMember(private_key_id) {
      await tx
        .deleteFrom("private_key_tag_members")
        .where("organization_id", "=", organization_id)
        .where("private_key_id", "=", private_key_id)
        .execute();
    },
  }),
};
