import { Type } from "typebox";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { OidcToken } from "../credentials/model.ts";
import { addIssuedKey, issuedKeyFields, issueKey } from "../sessions/store.ts";
import { findPerson, requirePerson } from "./person.ts";

export const oauthSignIn = activity({
  path: "oauth",
  summary: "Sign a user in with an OIDC token, and return a new key that only the key in the token can decrypt.",
  byParents: true,
  needs: ["oidc"],
  asks: ["issueCredential"],
  intent: Strict({ ...issuedKeyFields, oidcToken: OidcToken }),
  result: Type.Object({ userId: Type.String(), apiKeyId: Type.String(), credentialBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer, oidc }) {
    const person = await findPerson({ read, organization, oidc }, intent.oidcToken, intent.targetPublicKey);
    return { person, issued: await issueKey({ read, organization, signer }, intent) };
  },
  change: ({ view, id, intent, now, prepared: { person, issued } }) =>
    changesOn(view, (draft) => {
      requirePerson(draft, person);
      const key = {
        id: id("apiKey"),
        what: "Oauth",
        type: "CREDENTIAL_TYPE_OAUTH_KEY_P256",
        grade: "oidc",
        now,
      } as const;
      addIssuedKey(draft, person.userId, issued, intent, key);
    }),
  answer: ({ id, prepared: { person, issued } }) => ({
    userId: person.userId,
    apiKeyId: id("apiKey"),
    credentialBundle: issued.credentialBundle,
  }),
});
