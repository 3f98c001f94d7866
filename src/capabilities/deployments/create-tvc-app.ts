import { Type } from "typebox";
import { ONLY_ELSEWHERE } from "../../authority/quotas.ts";
import { activity } from "../../engine/declare.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TVC_APPS } from "../../kernel/limits.ts";
import { AppParams, checkApp } from "./model.ts";
import { ensureSet, requireSet } from "./operators.ts";
import { checkHolders, findQuorumKey } from "./quorum-keys.ts";

const SetIds = Type.Array(Type.String());

export const createTvcApp = activity({
  path: "create_tvc_app",
  summary:
    "Create an app whose deployments run once enough operators have approved them, with the set of those operators and the set of those who hold shares of its quorum key.",
  intent: AppParams,
  result: Type.Object({
    appId: Type.String(),
    manifestSetId: Type.String(),
    manifestSetOperatorIds: SetIds,
    manifestSetThreshold: Type.Integer(),
    shareSetId: Type.String(),
    shareSetOperatorIds: SetIds,
    shareSetThreshold: Type.Integer(),
  }),
  subject: () => ({ governedBy: "policies", resource: "TVC_APP", action: "CREATE" }),
  check: checkApp,
  async run({ intent, tx, organization: { id: organizationId }, id, now }) {
    const setOf = async (kind: "manifestSet" | "shareSet") => {
      const params = intent[`${kind}Params`];
      const place = { organizationId, id: (within: string) => id(`${kind}.${within}`), now };
      if (params) return ensureSet(tx, place, params, `parameters.${kind}Params`);
      return requireSet(tx, organizationId, intent[`${kind}Id`] as string);
    };
    const [manifestSet, shareSet] = [await setOf("manifestSet"), await setOf("shareSet")];
    if (shareSet.threshold < 2) {
      fail("TVC_OPERATOR_SET_INVALID", {
        field: "parameters.shareSetId",
        reason: "names a set with a threshold of 1; shares require at least 2",
      });
    }
    const quorumKey = await findQuorumKey(tx, organizationId, { public_key: intent.quorumPublicKey.toLowerCase() });
    if (quorumKey) {
      checkHolders(quorumKey, shareSet, `parameters.${intent.shareSetParams ? "shareSetParams" : "shareSetId"}`);
    }
    const appId = id("app");
    await tx
      .insertInto("tvc_apps")
      .values({
        id: appId,
        organization_id: organizationId,
        name: intent.name,
        quorum_public_key: intent.quorumPublicKey.toLowerCase(),
        manifest_set_id: manifestSet.id,
        share_set_id: shareSet.id,
        quorum_key_id: quorumKey?.id ?? null,
        enable_egress: Number(intent.enableEgress ?? false),
        enable_debug: Number(intent.enableDebugModeDeployments ?? false),
        live_deployment_id: null,
        deleted_at: null,
        created_at: now,
        updated_at: now,
      })
      .execute();
    await enforceQuota(
      tx,
      { table: "tvc_apps", kind: "TVC apps, deleted ones included", limit: MAX_TVC_APPS, remedy: ONLY_ELSEWHERE },
      { organization_id: organizationId },
    );
    return {
      appId,
      manifestSetId: manifestSet.id,
      manifestSetOperatorIds: manifestSet.operators.map(({ id }) => id),
      manifestSetThreshold: manifestSet.threshold,
      shareSetId: shareSet.id,
      shareSetOperatorIds: shareSet.operators.map(({ id }) => id),
      shareSetThreshold: shareSet.threshold,
    };
  },
});
