import { type Static, Type } from "typebox";
import type { SignedPayload } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { OneOf } from "../fields.ts";

/** The rows of app proofs, and their form in responses. */

const SCHEME = "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256";

/** A statement by a signer; `signature` is r and s in hex over the SHA-256 of `proofPayload`. */
export const AppProof = Type.Object(
  {
    scheme: OneOf([SCHEME]),
    /** 130 bytes in hex: the signer's ephemeral keys for encryption and for signing. */
    publicKey: Type.String(),
    proofPayload: Type.String(),
    signature: Type.String(),
  },
  { $id: "AppProof" },
);
export type AppProof = Static<typeof AppProof>;

/** A proof with the boot proof of the signer that made it. */
export interface NewAppProof extends SignedPayload {
  bootProofId: string;
}

const selectAppProofs = prepared<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .selectFrom("app_proofs as a")
      .innerJoin("boot_proofs as b", "b.id", "a.boot_proof_id")
      .select(["b.ephemeral_public_key", "a.payload", "a.signature"])
      .where("a.organization_id", "=", organizationId)
      .where("a.activity_id", "=", activityId)
      .orderBy("a.position"),
);

export const insertAppProof = preparedWrite<{
  organizationId: string;
  activityId: string;
  position: number;
  bootProofId: string;
  payload: string;
  signature: string;
}>()((db, row) =>
  db
    .insertInto("app_proofs")
    .values({
      organization_id: row.organizationId,
      activity_id: row.activityId,
      position: row.position,
      boot_proof_id: row.bootProofId,
      payload: row.payload,
      signature: row.signature,
    })
    .returning("position"),
);

/** The proofs of an activity: the proof of the decision first, then those of addresses in the order of the result. */
export async function findAppProofs(read: Reader, organizationId: string, activityId: string): Promise<AppProof[]> {
  const rows = await selectAppProofs(read, { organizationId, activityId });
  return rows.map(({ ephemeral_public_key, payload, signature }) => ({
    scheme: SCHEME,
    publicKey: ephemeral_public_key,
    proofPayload: payload,
    signature,
  }));
}
