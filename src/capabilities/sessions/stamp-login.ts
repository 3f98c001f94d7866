import { Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Seconds, Strict } from "../../engine/fields.ts";
import { SessionPublicKey, sessionKeyOf, sessionName, sessionPublicKeyOf, signSession, termsOf } from "./store.ts";

export const stampLogin = activity({
  path: "stamp_login",
  summary: "Sign in by a stamp: a key of one's own stamps requests for a while, and the token tells of it.",
  findsSubOrganization: true,
  asks: ["sign"],
  intent: Strict({
    publicKey: SessionPublicKey,
    expirationSeconds: Type.Optional(Seconds),
    invalidateExisting: Type.Optional(Type.Boolean()),
    sessionProfileId: Type.Optional(Id),
  }),
  result: Type.Object({ session: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE", isOwn: true }),
  check: ({ publicKey }) => void sessionPublicKeyOf(publicKey, "parameters.publicKey"),
  async prepare({ intent, read, organization, signer, submitterId: userId, now }) {
    const terms = await termsOf(read, organization, intent);
    const { publicKey } = intent;
    return { terms, session: await signSession({ read, signer }, organization, { userId, publicKey }, terms, now) };
  },
  change: ({ view, id, intent, submitterId: userId, now, prepared: { terms } }) =>
    changesOn(view, (draft) => {
      const publicKey = sessionPublicKeyOf(intent.publicKey, "parameters.publicKey");
      const named = { id: id("apiKey"), name: sessionName("Login", now), type: "CREDENTIAL_TYPE_LOGIN" };
      const key = sessionKeyOf({ ...named, publicKey, grade: "stamp" }, terms);
      const { invalidateExisting = false } = intent;
      addSessionKey(draft, { userId, key, invalidateExisting }, now, "parameters");
    }),
  answer: ({ prepared: { session } }) => ({ session }),
});
