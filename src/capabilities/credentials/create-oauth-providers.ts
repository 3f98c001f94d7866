import { Type } from "typebox";
import { addOauthProviders, refuseUnproven } from "../../authority/rules/credentials.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import {
  checkOauthProviders,
  newOauthProviders,
  OauthProviderParams,
  OauthProviderParamsV1,
  verifyOauthProviders,
} from "./model.ts";

const Result = Type.Object({ providerIds: Type.Array(Type.String()) });

export const createOauthProviders = activity({
  path: "create_oauth_providers",
  summary:
    "Let a user sign in with OIDC tokens of these issuers. Each is shown by a token, which its issuer's keys verify; claims without one need the proof of a token or a provider with the same issuer and subject.",
  needs: ["oidc"],
  version: 2,
  intent: Strict({ userId: Id, oauthProviders: SomeOf(OauthProviderParams) }),
  result: Result,
  resultKey: "createOauthProvidersResultV2",
  versions: {
    1: {
      intent: Strict({ userId: Id, oauthProviders: SomeOf(OauthProviderParamsV1) }),
      upgrade: (intent) => intent,
      result: { schema: Result, key: "createOauthProvidersResult", from: (result) => result },
    },
  },
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", ownerId: userId }),
  check: ({ oauthProviders }) => checkOauthProviders(oauthProviders, "parameters.oauthProviders"),
  prepare: ({ intent: { oauthProviders }, oidc, organization }) =>
    verifyOauthProviders(oauthProviders, "parameters.oauthProviders", { oidc, organization }),
  change: ({ view, id, intent: { userId }, now, prepared }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      refuseUnproven(prepared, draft.part("oauthProviders", userId), "parameters.oauthProviders");
      const providers = newOauthProviders(prepared, id, "oauthProviders");
      addOauthProviders(draft, userId, providers, now, "parameters.oauthProviders");
    }),
  answer: ({ id, prepared }) => ({ providerIds: prepared.map((_, index) => id(`oauthProviders.${index}`)) }),
});
