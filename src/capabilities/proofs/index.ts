import { capability } from "../../engine/capability.ts";
import { getBootProof } from "./get-boot-proof.ts";
import { getLatestBootProof } from "./get-latest-boot-proof.ts";
import { listAppProofs } from "./list-app-proofs.ts";

export const proofs = capability({
  title: "Proofs",
  operations: [listAppProofs, getBootProof, getLatestBootProof],
});
