import { type Static, Type } from "typebox";
import { addAuthenticators } from "../../authority/rules/credentials.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { findAllowedOrigins } from "../../engine/identity/passkey-origins.ts";
import { MAX_AUTHENTICATORS_PER_USER } from "../../kernel/limits.ts";
import {
  AuthenticatorParams,
  AuthenticatorParamsV1,
  newAuthenticators,
  upgradeAuthenticator,
  verifyAuthenticators,
} from "./model.ts";

const IntentV1 = Strict({ authenticators: SomeOf(AuthenticatorParamsV1, MAX_AUTHENTICATORS_PER_USER), userId: Id });

export const createAuthenticators = activity({
  path: "create_authenticators",
  summary: "Add passkeys to a user, each with its attestation.",
  version: 2,
  intent: Strict({ authenticators: SomeOf(AuthenticatorParams, MAX_AUTHENTICATORS_PER_USER), userId: Id }),
  result: Type.Object({ authenticatorIds: Type.Array(Type.String()) }),
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ authenticators, userId }: Static<typeof IntentV1>) => ({
        authenticators: authenticators.map(upgradeAuthenticator),
        userId,
      }),
    },
  },
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", ownerId: userId }),
  async prepare({ intent: { authenticators }, read, organization }) {
    const allowedOrigins = await findAllowedOrigins(read, organization);
    return verifyAuthenticators(authenticators, "parameters.authenticators", { organization, allowedOrigins });
  },
  change: ({ view, id, intent: { userId }, now, prepared }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      const authenticators = newAuthenticators(prepared, id, "authenticators");
      addAuthenticators(draft, userId, authenticators, now, "parameters.authenticators");
    }),
  answer: ({ id, intent: { authenticators } }) => ({
    authenticatorIds: authenticators.map((_, index) => id(`authenticators.${index}`)),
  }),
});
