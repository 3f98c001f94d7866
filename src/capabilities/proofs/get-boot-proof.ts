import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { findBootProof } from "../../engine/proofs/boot-proofs.ts";
import { fail } from "../../kernel/errors.ts";
import { BootProof, bootProofOf, EphemeralKey } from "./model.ts";

export const getBootProof = query({
  path: "get_boot_proof",
  summary:
    "Get the boot proof of the signer that has an ephemeral key, the `publicKey` of an app proof. It says which code the signer ran.",
  request: Type.Object({ organizationId: Id, ephemeralKey: EphemeralKey }),
  response: Type.Object({ bootProof: BootProof }),
  async run({ request: { ephemeralKey }, read, organization }) {
    const [row] = await findBootProof(read, { ephemeralPublicKey: ephemeralKey.toLowerCase() });
    if (!row) {
      fail("RESOURCE_NOT_FOUND", {
        kind: "boot proof of ephemeralKey",
        id: ephemeralKey,
        organizationId: organization.id,
      });
    }
    return { bootProof: bootProofOf(row) };
  },
});
