import { capability } from "../../engine/capability.ts";
import { createPolicies } from "./create-policies.ts";
import { createPolicy } from "./create-policy.ts";
import { deletePolicies } from "./delete-policies.ts";
import { deletePolicy } from "./delete-policy.ts";
import { getActivePolicies } from "./get-active-policies.ts";
import { getPolicy } from "./get-policy.ts";
import { getPolicyEvaluations } from "./get-policy-evaluations.ts";
import { listPolicies } from "./list-policies.ts";
import { simulatePolicy } from "./simulate-policy.ts";
import { updatePolicy } from "./update-policy.ts";

export const policies = capability({
  title: "Policies",
  operations: [
    createPolicy,
    createPolicies,
    updatePolicy,
    deletePolicy,
    deletePolicies,
    getPolicy,
    listPolicies,
    getActivePolicies,
    getPolicyEvaluations,
    simulatePolicy,
  ],
  erases: ["policies"],
});
