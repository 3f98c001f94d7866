import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_AUTHENTICATORS_PER_USER } from "../../kernel/limits.ts";
import { findAllowedOrigins } from "../organizations/store.ts";
import { changeUser } from "../users/store.ts";
import { AuthenticatorParams, AuthenticatorParamsV1, upgradeAuthenticator, verifyAuthenticators } from "./model.ts";
import { addAuthenticators } from "./store.ts";

const IntentV1 = Strict({ authenticators: SomeOf(AuthenticatorParamsV1, MAX_AUTHENTICATORS_PER_USER), userId: Id });

export const createAuthenticators = activity({
  path: "create_authenticators",
  summary: "Add passkeys to a user, each with the attestation of its making.",
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
    return verifyAuthenticators(authenticators, "parameters.authenticators", allowedOrigins);
  },
  async run({ intent: { userId }, tx, organization, now, prepared: authenticators }) {
    await changeUser(tx, organization.id, userId, now);
    const owner = { tx, organizationId: organization.id, userId, now };
    return { authenticatorIds: await addAuthenticators(owner, authenticators, "parameters.authenticators") };
  },
});
