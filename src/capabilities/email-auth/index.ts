import { capability } from "../../engine/capability.ts";
import { emailAuth } from "./email-auth.ts";
import { initUserEmailRecovery } from "./init-user-email-recovery.ts";
import { recoverUser } from "./recover-user.ts";

export const emailSignIn = capability({
  title: "Sign-in and recovery by mail",
  operations: [emailAuth, initUserEmailRecovery, recoverUser],
});
