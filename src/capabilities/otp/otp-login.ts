import { type Static, Type } from "typebox";
import { hasContact } from "../../authority/rules/contacts.ts";
import { requireFeature } from "../../authority/rules/features.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { findVerifiedHolder } from "../../engine/identity/contacts.ts";
import { checkClientSignature } from "../../engine/keys/client-signatures.ts";
import {
  contactOfToken,
  readVerificationToken,
  requireVerificationToken,
  useToken,
} from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";
import { addLogin, checkLogin, loginFields, prepareLogin } from "../sessions/store.ts";
import { ClientSignature, featureOf, VerificationToken } from "./model.ts";
import { findUserByContact } from "./store.ts";

const TOKEN = "parameters.verificationToken";

const fields = { ...loginFields, verificationToken: VerificationToken };
const Newest = Strict({ ...fields, clientSignature: ClientSignature });
const First = Strict({ ...fields, clientSignature: Type.Optional(ClientSignature) });
type Intent = Static<typeof First>;

export const otpLogin = activity({
  path: "otp_login",
  summary: "Sign a user in with a token that proves their email address or phone number.",
  version: 2,
  byParents: true,
  asks: ["signStatements"],
  intent: Newest,
  result: Type.Object({ session: Type.String() }),
  versions: { 1: { intent: First, upgrade: (intent: Intent) => intent as Static<typeof Newest> } },
  // The token is only parsed here. An invalid token makes the activity fail, but does not affect the decision on it.
  async carriedOutIn({ intent: { verificationToken }, read, organization }) {
    const token = readVerificationToken(verificationToken);
    return token && (await findVerifiedHolder(read, organization.id, contactOfToken(token)))?.organizationId;
  },
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: checkLogin,
  async prepare({ intent, read, organization, signer, now }) {
    const { verificationToken, publicKey, clientSignature } = intent as Intent;
    const token = await requireVerificationToken(read, verificationToken, { organization, field: TOKEN, now });
    if (token.public_key !== undefined || clientSignature) {
      checkClientSignature(clientSignature, token, { type: "USAGE_TYPE_LOGIN", login: { publicKey } });
    }
    const userId = await findUserByContact(read, organization, contactOfToken(token));
    const login = await prepareLogin({ read, organization, signer, now }, intent, userId);
    return { login, token };
  },
  change: ({ view, id, intent, now, prepared: { login, token } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [login.userId]);
      if (!hasContact(draft, login.userId, contactOfToken(token))) {
        fail("VERIFICATION_TOKEN_INVALID", { field: TOKEN, reason: "its contact no longer belongs to the user" });
      }
      requireFeature(draft, featureOf(token.verification_type));
      addLogin(draft, login, intent, { id: id("apiKey"), grade: "otp", now });
    }),
  answer: ({ prepared: { login } }) => ({ session: login.session }),
  alsoStore: ({ tx, organization, prepared: { token } }) =>
    useToken(tx, organization, token, { usage: "LOGIN", field: TOKEN }),
});
