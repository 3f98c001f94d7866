import { Type } from "typebox";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { OidcToken } from "../credentials/model.ts";
import { addLogin, checkLogin, loginFields, prepareLogin } from "../sessions/store.ts";
import { findOrganizationOf, findPerson, requirePerson } from "./person.ts";

export const oauthLogin = activity({
  path: "oauth_login",
  summary: "Sign a user in with an OIDC token that is bound to the user's key.",
  byParents: true,
  needs: ["oidc"],
  asks: ["signStatements"],
  intent: Strict({ ...loginFields, oidcToken: OidcToken }),
  result: Type.Object({ session: Type.String() }),
  // The token is verified in that organization, so that its issuer is asked only once.
  carriedOutIn: ({ intent, read, organization }) => findOrganizationOf(read, organization, intent.oidcToken),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: checkLogin,
  async prepare({ intent, read, organization, signer, oidc, now }) {
    const { oidcToken, publicKey } = intent;
    const person = await findPerson({ read, organization, oidc, reach: "subOrganizations" }, oidcToken, publicKey);
    return { person, login: await prepareLogin({ read, organization, signer, now }, intent, person.userId) };
  },
  change: ({ view, id, intent, now, prepared: { person, login } }) =>
    changesOn(view, (draft) => {
      requirePerson(draft, person);
      addLogin(draft, login, intent, { id: id("apiKey"), grade: "oidc", now });
    }),
  answer: ({ prepared: { login } }) => ({ session: login.session }),
});
