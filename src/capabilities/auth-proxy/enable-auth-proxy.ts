import { Type } from "typebox";
import type { Change } from "../../authority/changes.ts";
import { enableProxyUser } from "../../authority/rules/auth-proxy.ts";
import { addPolicies, type NewPolicy } from "../../authority/rules/policies.ts";
import { ALL } from "../../authority/state.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { authProxyTypes } from "../../signer/protocol.ts";
import { findAuthProxy, putAuthProxy, refuseChanged, type StoredAuthProxy } from "./store.ts";

export const enableAuthProxy = activity({
  path: "enable_auth_proxy",
  summary:
    "Let people sign up and in through this server without a backend. Creates a user whose key stamps their requests, and a policy that allows the user what they need.",
  only: "parents",
  asks: ["createAuthProxyKey"],
  intent: Strict({}),
  result: Type.Object({ userId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH_PROXY", action: "CREATE" }),
  async prepare({ read, organization, signer, id }) {
    const stored = await findAuthProxy(read, organization.id);
    const configId = stored?.configId ?? id("config");
    if (stored?.publicKey !== undefined) return { configId, stored, key: undefined };
    const key = await signer.ask({ verb: "createAuthProxyKey", ...keyOwnerOf(organization), configId });
    return { configId, stored, key };
  },
  change: ({ view, id, now, prepared: { stored, key } }) =>
    changesOn(view, (draft) => {
      if (!key) return;
      const apiKey = { id: id("apiKey"), publicKey: key.publicKey };
      const userId = enableProxyUser(draft, { knownId: stored?.userId, freshId: id("user"), apiKey }, now);
      const isAllowed =
        userId === stored?.userId && draft.part("policies", ALL).some((policy) => policy.id === stored.policyId);
      if (!isAllowed) addPolicies(draft, [policyOf(userId, id("policy"))], now, () => "parameters");
    }),
  answer: ({ changes, prepared: { stored } }) => ({ userId: madeBy(changes, stored).userId }),
  async alsoStore({ tx, organization, now, changes, prepared: { configId, stored, key } }) {
    if (!key) return;
    await refuseChanged(tx, organization.id, stored);
    const { userId: user_id, policyId: policy_id } = madeBy(changes, stored);
    const { publicKey: public_key, sealedKey: sealed_key } = key;
    await putAuthProxy(tx, organization.id, configId, { user_id, policy_id, public_key, sealed_key }, now);
  },
});

/** The proxy's user and policy: new ones if this activity created them, else the stored ones. */
function madeBy(
  changes: readonly Change[],
  stored: Pick<StoredAuthProxy, "userId" | "policyId"> | undefined,
): { userId: string; policyId: string } {
  const user = changes.find((change) => change.do === "addUser")?.user;
  const policy = changes.find((change) => change.do === "addPolicies")?.policies[0];
  return { userId: user?.id ?? (stored?.userId as string), policyId: policy?.id ?? (stored?.policyId as string) };
}

/** The policy that allows the proxy's activities. It is an ordinary policy: to allow the proxy less, change it. */
const policyOf = (userId: string, id: string): NewPolicy => ({
  id,
  name: `Auth proxy ${userId}`,
  effect: "EFFECT_ALLOW",
  consensus: `approvers.any(user, user.id == '${userId}')`,
  condition: `activity.type in [${authProxyTypes.map((type) => `'${type}'`).join(", ")}]`,
  time: null,
  notes: "What the auth proxy does for people who sign up and in.",
});
