import { Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Label, Seconds, Strict } from "../../engine/fields.ts";
import { TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { OidcToken } from "../credentials/model.ts";
import { credentialBundleOf, sessionKeyOf, sessionName, termsOf } from "../sessions/store.ts";
import { findPerson, requirePerson } from "./person.ts";

export const oauthSignIn = activity({
  path: "oauth",
  summary: "Sign a user in by an OIDC token, with a fresh key that only the key it is bound to can open.",
  byParents: true,
  needs: ["oidc"],
  asks: ["issueCredential"],
  intent: Strict({
    oidcToken: OidcToken,
    targetPublicKey: TargetPublicKey,
    apiKeyName: Type.Optional(Label),
    expirationSeconds: Type.Optional(Seconds),
    invalidateExisting: Type.Optional(Type.Boolean()),
  }),
  result: Type.Object({ userId: Type.String(), apiKeyId: Type.String(), credentialBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer, oidc }) {
    const person = await findPerson({ read, organization, oidc }, intent.oidcToken, intent.targetPublicKey);
    const { publicKey, message } = await signer.ask({
      verb: "issueCredential",
      organizationId: organization.id,
      targetPublicKey: targetOf(intent),
    });
    const terms = await termsOf(read, organization, intent);
    return { person, publicKey, credentialBundle: credentialBundleOf(message), terms };
  },
  change: ({ view, id, intent, now, prepared: { person, publicKey, terms } }) =>
    changesOn(view, (draft) => {
      requirePerson(draft, person);
      const { apiKeyName: name = sessionName("Oauth", now), invalidateExisting = false } = intent;
      const type = "CREDENTIAL_TYPE_OAUTH_KEY_P256";
      const key = sessionKeyOf({ id: id("apiKey"), name, type, publicKey, grade: "oidc" }, terms);
      addSessionKey(draft, { userId: person.userId, key, invalidateExisting }, now, "parameters");
    }),
  answer: ({ id, prepared: { person, credentialBundle } }) => ({
    userId: person.userId,
    apiKeyId: id("apiKey"),
    credentialBundle,
  }),
});
