import assert from "node:assert/strict";
import { it } from "node:test";
import { createPolicies } from "./create-policies.ts";

it("the checks of one organization's many policies do not keep those of another waiting", async () => {
  const terms = (request: number, policy: number) =>
    Array.from({ length: 40 }, (_, at) => `eth.tx.nonce != ${(request * 60 + policy) * 40 + at}`).join(" && ");
  const done: string[] = [];
  const check = async (organizationId: string, request: number) => {
    const policies = Array.from({ length: 60 }, (_, policy) => ({
      policyName: `Policy ${policy}`,
      effect: "EFFECT_ALLOW",
      // Each another one: what was compiled is kept.
      condition: terms(request, policy),
      notes: "",
    }));
    await createPolicies.check({ policies }, { organizationId });
    done.push(organizationId);
  };
  await Promise.all([...Array.from({ length: 6 }, (_, request) => check("busy", request)), check("other", 6)]);
  assert.ok(done.indexOf("other") <= 1, done.join());
});
