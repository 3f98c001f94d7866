import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Label } from "../../engine/fields.ts";
import { findLatestBootProof } from "../../engine/proofs/boot-proofs.ts";
import { fail } from "../../kernel/errors.ts";
import { APP_NAME, BootProof, bootProofOf } from "./model.ts";

export const getLatestBootProof = query({
  path: "get_latest_boot_proof",
  summary: 'Get the boot proof of the signer that was started last. The only `appName` is "signer".',
  request: Type.Object({ organizationId: Id, appName: Label }),
  response: Type.Object({ bootProof: BootProof }),
  async run({ request: { appName }, read, organization: { id: organizationId } }) {
    const [row] = appName === APP_NAME ? await findLatestBootProof(read, {}) : [];
    if (!row) fail("RESOURCE_NOT_FOUND", { kind: "boot proof of appName", id: appName, organizationId });
    return { bootProof: bootProofOf(row) };
  },
});
