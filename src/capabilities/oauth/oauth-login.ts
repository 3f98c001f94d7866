import { Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Seconds, Strict } from "../../engine/fields.ts";
import { OidcToken } from "../credentials/model.ts";
import {
  SessionPublicKey,
  sessionKeyOf,
  sessionName,
  sessionPublicKeyOf,
  signSession,
  termsOf,
} from "../sessions/store.ts";
import { findPerson, requirePerson } from "./person.ts";

export const oauthLogin = activity({
  path: "oauth_login",
  summary: "Sign a user in by an OIDC token that is bound to a key of theirs.",
  byParents: true,
  needs: ["oidc"],
  asks: ["sign"],
  intent: Strict({
    oidcToken: OidcToken,
    publicKey: SessionPublicKey,
    expirationSeconds: Type.Optional(Seconds),
    invalidateExisting: Type.Optional(Type.Boolean()),
    sessionProfileId: Type.Optional(Id),
  }),
  result: Type.Object({ session: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: ({ publicKey }) => void sessionPublicKeyOf(publicKey, "parameters.publicKey"),
  async prepare({ intent, read, organization, signer, oidc, now }) {
    const { oidcToken, publicKey } = intent;
    const person = await findPerson({ read, organization, oidc }, oidcToken, publicKey);
    const terms = await termsOf(read, organization, intent);
    const { userId } = person;
    const session = await signSession({ read, signer }, organization, { userId, publicKey }, terms, now);
    return { person, terms, session };
  },
  change: ({ view, id, intent, now, prepared: { person, terms } }) =>
    changesOn(view, (draft) => {
      requirePerson(draft, person);
      const publicKey = sessionPublicKeyOf(intent.publicKey, "parameters.publicKey");
      const named = { id: id("apiKey"), name: sessionName("Login", now), type: "CREDENTIAL_TYPE_LOGIN" };
      const key = sessionKeyOf({ ...named, publicKey, grade: "oidc" }, terms);
      const { invalidateExisting = false } = intent;
      addSessionKey(draft, { userId: person.userId, key, invalidateExisting }, now, "parameters");
    }),
  answer: ({ prepared: { session } }) => ({ session }),
});
