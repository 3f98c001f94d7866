import { type Static, Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, OneOf, Seconds, Strict } from "../../engine/fields.ts";
import { openVerificationToken } from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";
import {
  SessionPublicKey,
  sessionKeyOf,
  sessionName,
  sessionPublicKeyOf,
  signSession,
  termsOf,
} from "../sessions/store.ts";
import { checkClientSignature } from "./client-signature.ts";
import { findUserByContact, useToken } from "./store.ts";

const ClientSignature = Strict({
  publicKey: SessionPublicKey,
  scheme: OneOf(["CLIENT_SIGNATURE_SCHEME_API_P256"]),
  message: Type.String({ maxLength: 16_384 }),
  signature: Type.String({ pattern: "^[0-9a-fA-F]{128}$", description: "r and s in hex" }),
});
const fields = {
  verificationToken: Type.String({ minLength: 1, maxLength: 4096 }),
  publicKey: SessionPublicKey,
  expirationSeconds: Type.Optional(Seconds),
  invalidateExisting: Type.Optional(Type.Boolean()),
  sessionProfileId: Type.Optional(Id),
};
const Newest = Strict({ ...fields, clientSignature: ClientSignature });
const First = Strict({ ...fields, clientSignature: Type.Optional(ClientSignature) });
type Intent = Static<typeof First>;

export const otpLogin = activity({
  path: "otp_login",
  summary: "Sign a user in by a token that proves their email address or phone number.",
  version: 2,
  byParents: true,
  asks: ["sign"],
  intent: Newest,
  result: Type.Object({ session: Type.String() }),
  versions: { 1: { intent: First, upgrade: (intent: Intent) => intent as Static<typeof Newest> } },
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: ({ publicKey }) => void sessionPublicKeyOf(publicKey, "parameters.publicKey"),
  async prepare({ intent, read, organization, signer, now }) {
    const { verificationToken, publicKey, clientSignature } = intent as Intent;
    const field = "parameters.verificationToken";
    const token = await openVerificationToken(read, verificationToken, now);
    if (!token) return fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was not issued here, or has expired" });
    if (![organization.id, organization.parentId].includes(token.organization_id)) {
      fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was issued in another organization" });
    }
    if (token.public_key !== undefined || clientSignature) {
      checkClientSignature(clientSignature, token, { publicKey });
    }
    const userId = await findUserByContact(read, organization.id, token);
    const terms = await termsOf(read, organization, intent);
    const session = await signSession({ read, signer }, organization, { userId, publicKey }, terms, now);
    return { userId, terms, session, token: { id: token.id, usage: "LOGIN" as const, expiresAt: Number(token.exp) } };
  },
  change: ({ view, id, intent, now, prepared: { userId, terms } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      const publicKey = sessionPublicKeyOf(intent.publicKey, "parameters.publicKey");
      const named = { id: id("apiKey"), name: sessionName("Login", now), type: "CREDENTIAL_TYPE_LOGIN" };
      const key = sessionKeyOf({ ...named, publicKey, grade: "otp" }, terms);
      addSessionKey(draft, { userId, key, invalidateExisting: intent.invalidateExisting ?? false }, now, "parameters");
    }),
  answer: ({ prepared: { session } }) => ({ session }),
  also: ({ tx, organization, prepared: { token } }) => useToken(tx, organization.parentId ?? organization.id, token),
});
