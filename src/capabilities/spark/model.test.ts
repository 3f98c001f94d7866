import assert from "node:assert/strict";
import { it } from "node:test";
import { pointOf, smallScalar } from "../../crypto/spark/group.ts";
import { checkSignatures } from "./model.ts";

it("checks of one organization's long requests do not keep those of another waiting", async () => {
  const point = Buffer.from(pointOf(smallScalar(7))).toString("hex");
  const commitment = (at: number) => ({
    id: Buffer.from(smallScalar(at + 1)).toString("hex"),
    hiding: point,
    binding: point,
  });
  const signature = {
    derivation: { identity: {} },
    message: "00".repeat(32),
    verifyingKey: point,
    operatorCommitments: Array.from({ length: 8 }, (_, at) => commitment(at)),
  };
  const signatures = Array.from({ length: 300 }, () => signature);
  const done: string[] = [];
  const check = async (organizationId: string) => {
    await checkSignatures(signatures, { organizationId });
    done.push(organizationId);
  };
  await Promise.all([...Array.from({ length: 6 }, () => check("busy")), check("other")]);
  assert.deepEqual(done, ["other", "busy", "busy", "busy", "busy", "busy", "busy"]);
});
