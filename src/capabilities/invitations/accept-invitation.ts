import { Type } from "typebox";
import { acceptInvitation as accept } from "../../authority/rules/invitations.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Label, List, Strict } from "../../engine/fields.ts";
import { findOrganization } from "../../engine/identity/organizations.ts";
import { findAllowedOrigins } from "../../engine/identity/passkey-origins.ts";
import type { Newcomer } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import {
  ApiKeyParams,
  AuthenticatorParams,
  checkApiKeys,
  newApiKeys,
  newAuthenticators,
  verifyAuthenticators,
} from "../credentials/model.ts";
import { requireOpenInvitation } from "./store.ts";
import { hashOfToken } from "./tokens.ts";

const AUTHENTICATORS = "parameters.authenticators";

export const acceptInvitation = activity({
  path: "accept_invitation",
  isExtension: true,
  takesAppProofs: false,
  summary:
    "Accept an invitation and become a user. The request is stamped with the API key or passkey that it registers. An extension of this server.",
  intent: Strict({
    invitationId: Id,
    token: Type.String({ minLength: 1, maxLength: 256 }),
    userName: Type.Optional(Label),
    apiKeys: Type.Optional(List(ApiKeyParams, 1)),
    authenticators: Type.Optional(List(AuthenticatorParams, 1)),
  }),
  result: Type.Object({ invitationId: Type.String(), userId: Type.String() }),
  subject: () => ({ governedBy: "nobody", resource: "INVITATION", action: "UPDATE" }),
  async check({ apiKeys = [], authenticators = [] }, { organizationId }) {
    if (apiKeys.length + authenticators.length !== 1) {
      const reason =
        "must have exactly one credential in `apiKeys` or `authenticators`: the one that stamps the request";
      fail("FIELD_INVALID", { field: "parameters", reason });
    }
    await checkApiKeys(apiKeys, "parameters.apiKeys", organizationId);
  },
  async newcomer({ intent, read, organizationId, now }): Promise<Newcomer> {
    const { invitationId: id, token, apiKeys = [], authenticators = [] } = intent;
    const proof = { id, tokenHash: hashOfToken(token) };
    const { receiverName } = await requireOpenInvitation(read, organizationId, proof, now);
    const userName = intent.userName ?? receiverName;
    const [apiKey] = newApiKeys(apiKeys, () => "", "");
    if (apiKey) return { userName, credential: apiKey };
    const organization = await findOrganization(read, organizationId);
    const allowedOrigins = organization && (await findAllowedOrigins(read, organization));
    const registering = { organization: { id: organizationId }, allowedOrigins };
    const [checked] = await verifyAuthenticators(authenticators, AUTHENTICATORS, registering);
    const type = "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR";
    return { userName, credential: { type, allowedOrigins, ...(checked as NonNullable<typeof checked>) } };
  },
  async prepare({ intent: { token, authenticators = [] }, read, organization, submitter }) {
    const allowedOrigins = await findAllowedOrigins(read, organization);
    return {
      tokenHash: hashOfToken(token),
      userId: submitter.userId,
      credentialId: submitter.credential.id,
      authenticators: await verifyAuthenticators(authenticators, AUTHENTICATORS, { organization, allowedOrigins }),
    };
  },
  change: ({ view, intent: { invitationId, userName, apiKeys = [] }, now, prepared }) =>
    changesOn(view, (draft) => {
      const { tokenHash, userId, credentialId, authenticators } = prepared;
      const user = {
        id: userId,
        name: userName,
        apiKeys: newApiKeys(apiKeys, () => credentialId, "apiKeys"),
        authenticators: newAuthenticators(authenticators, () => credentialId, "authenticators"),
      };
      accept(draft, { id: invitationId, tokenHash }, user, now);
    }),
  answer: ({ intent: { invitationId }, prepared: { userId } }) => ({ invitationId, userId }),
});
