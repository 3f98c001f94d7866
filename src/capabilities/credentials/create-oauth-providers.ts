import { Type } from "typebox";
import { refuseOtherAddresses, verifyShownContacts } from "../../authority/rules/contacts.ts";
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

const PROVIDERS = "parameters.oauthProviders";
const Result = Type.Object({ providerIds: Type.Array(Type.String()) });

export const createOauthProviders = activity({
  path: "create_oauth_providers",
  summary:
    "Let a user sign in with OIDC tokens from these issuers. Each provider is proven by a token, which is verified with its issuer's keys; claims without a token need a token or an existing provider with the same issuer and subject. A parent may do this for a user of a sub-organization if a token from Google contains the user's address.",
  byParents: true,
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
  check: ({ oauthProviders }) => checkOauthProviders(oauthProviders, PROVIDERS),
  prepare: async ({ intent: { oauthProviders }, oidc, read, organization, submitter }) => ({
    checked: await verifyOauthProviders(oauthProviders, PROVIDERS, { oidc, read, organization }),
    isByParent: submitter.organizationId !== organization.id,
  }),
  change: ({ view, id, intent: { userId }, now, prepared: { checked, isByParent } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      refuseUnproven(checked, draft.part("oauthProviders", userId), PROVIDERS);
      const providers = newOauthProviders(checked, id, "oauthProviders");
      if (isByParent) refuseOtherAddresses(draft, userId, providers, PROVIDERS);
      addOauthProviders(draft, userId, providers, now, PROVIDERS);
      verifyShownContacts(draft, userId, providers, now, PROVIDERS);
    }),
  answer: ({ id, prepared: { checked } }) => ({
    providerIds: checked.map((_, index) => id(`oauthProviders.${index}`)),
  }),
});
