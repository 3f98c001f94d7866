import { Type } from "typebox";
import { removeServersKey } from "../../authority/rules/removed-credentials.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { findAuthProxy, putAuthProxy, refuseChanged } from "./store.ts";

export const disableAuthProxy = activity({
  path: "disable_auth_proxy",
  summary:
    "Refuse all requests through the auth proxy, and remove its key. Its configuration is kept for when it is enabled again.",
  only: "parents",
  intent: Strict({}),
  result: Type.Object({}),
  subject: () => ({ governedBy: "policies", resource: "AUTH_PROXY", action: "DELETE" }),
  prepare: ({ read, organization }) => findAuthProxy(read, organization.id),
  // The user and the policies about them stay.
  change: ({ view, evaluate, now, prepared: stored }) =>
    changesOn(view, (draft) => {
      const { userId, publicKey } = stored ?? {};
      if (userId === undefined || publicKey === undefined) return;
      removeServersKey(draft, publicKey, { userId, evaluate, now }, "parameters");
    }),
  answer: () => ({}),
  async alsoStore({ tx, organization, now, prepared: stored }) {
    await refuseChanged(tx, organization.id, stored);
    if (stored) await putAuthProxy(tx, organization.id, stored.configId, { public_key: null, sealed_key: null }, now);
  },
});
