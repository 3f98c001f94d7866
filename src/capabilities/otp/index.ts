import { capability } from "../../engine/capability.ts";
import { otpKey } from "../../engine/keys/verification-tokens.ts";
import { initOtp } from "./init-otp.ts";
import { initOtpAuth } from "./init-otp-auth.ts";
import { otpAuth } from "./otp-auth.ts";
import { otpLogin } from "./otp-login.ts";
import { otpCalls } from "./proxy-calls.ts";
import { pruneOtps } from "./prune.ts";
import { verifyOtp } from "./verify-otp.ts";

export const otp = capability({
  title: "One-time codes",
  operations: [initOtp, verifyOtp, otpLogin, initOtpAuth, otpAuth],
  proxyCalls: otpCalls,
  jobs: [pruneOtps],
  serviceKeys: [otpKey],
  erases: ["otps", "used_tokens"],
});
