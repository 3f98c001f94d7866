import { Type } from "typebox";
import { gradeByStamp, withProfileOf } from "../../authority/rules/sessions.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { addLogin, checkLogin, loginFields, prepareLogin } from "./store.ts";

export const stampLogin = activity({
  path: "stamp_login",
  summary: "Sign in with a stamp. Your own key can then stamp requests for a while, and the token proves the session.",
  findsSubOrganization: true,
  asks: ["signStatements"],
  intent: Strict(loginFields),
  result: Type.Object({ session: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE", isOwn: true }),
  check: checkLogin,
  async prepare(context) {
    const { intent, submitter } = context;
    const login = await prepareLogin(context, withProfileOf(intent, submitter.credential), submitter.userId);
    return { login, stampedWith: submitter.credential };
  },
  change: ({ view, id, intent, now, prepared: { login, stampedWith } }) =>
    changesOn(view, (draft) => {
      const grade = gradeByStamp(draft, login.userId, stampedWith);
      addLogin(draft, login, intent, { id: id("apiKey"), grade, now });
    }),
  answer: ({ prepared: { login } }) => ({ session: login.session }),
});
