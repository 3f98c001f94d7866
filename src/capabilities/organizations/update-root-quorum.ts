import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { findSigners } from "../credentials/store.ts";
import { requireUsers } from "../users/store.ts";
import { checkRootQuorum } from "./model.ts";
import { replaceRootQuorum } from "./store.ts";

export const updateRootQuorum = activity({
  path: "update_root_quorum",
  summary: "Set who may do everything, and how many of them together. Takes the present root quorum.",
  intent: Strict({ threshold: Type.Integer(), userIds: SomeIds }),
  result: Type.Object({}),
  subject: () => ({ governedBy: "rootQuorum" }),
  check({ threshold, userIds }) {
    if (new Set(userIds).size < userIds.length) {
      fail("FIELD_INVALID", { field: "parameters.userIds", reason: "names a user twice" });
    }
    checkRootQuorum(threshold, userIds.length, "parameters.threshold");
  },
  async run({ intent: { threshold, userIds }, tx, organization, now, budget }) {
    await requireUsers(tx, organization.id, userIds);
    const signers = await findSigners(tx, organization.id, userIds, threshold, budget);
    if (signers.length < threshold) {
      const other = userIds.find((id) => !signers.includes(id));
      const reason = `\`parameters.threshold\` is ${threshold}, and takes at least as many users who can sign; give ${other} a passkey or an API key without expiry, and MFA policies that these meet`;
      fail("QUORUM_USERS_MISSING", { reason });
    }
    await replaceRootQuorum(tx, organization.id, { threshold, userIds }, now);
    return {};
  },
});
