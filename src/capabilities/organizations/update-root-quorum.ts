import { Type } from "typebox";
import { refuseThreshold, setRootQuorum } from "../../authority/rules/root-quorum.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";

export const updateRootQuorum = activity({
  path: "update_root_quorum",
  summary: "Set who may do everything, and how many of them must agree. Requires the current root quorum.",
  intent: Strict({ threshold: Type.Integer(), userIds: SomeIds }),
  result: Type.Object({}),
  subject: () => ({ governedBy: "rootQuorum" }),
  check({ threshold, userIds }) {
    if (new Set(userIds).size < userIds.length) {
      fail("FIELD_INVALID", { field: "parameters.userIds", reason: "names a user twice" });
    }
    refuseThreshold(threshold, userIds.length, "parameters.threshold");
  },
  change: ({ view, evaluate, intent, now }) => changesOn(view, (draft) => setRootQuorum(draft, intent, evaluate, now)),
  answer: () => ({}),
});
