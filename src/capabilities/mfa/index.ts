import { capability } from "../../engine/capability.ts";
import { createMfaPolicy } from "./create-mfa-policy.ts";
import { deleteMfaPolicy } from "./delete-mfa-policy.ts";
import { getMfaPolicies } from "./get-mfa-policies.ts";
import { getMfaPolicy } from "./get-mfa-policy.ts";
import { getMfaStatus } from "./get-mfa-status.ts";
import { updateMfaPolicy } from "./update-mfa-policy.ts";

export const mfa = capability({
  title: "MFA policies",
  operations: [createMfaPolicy, updateMfaPolicy, deleteMfaPolicy, getMfaPolicy, getMfaPolicies, getMfaStatus],
  erases: ["mfa_policies"],
});
