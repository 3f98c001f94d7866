import { type Static, Type } from "typebox";
import { Timestamp, timestampOf } from "../../engine/fields.ts";
import type { BootProofRow } from "../../engine/proofs/boot-proofs.ts";

/** The one part of this service that makes proofs. */
export const APP_NAME = "signer";

export const EphemeralKey = Type.String({
  pattern: "^[0-9a-fA-F]{260}$",
  description: "the 130 bytes of an app proof's publicKey in hex",
});

/** The names of the fields are those of the published clients; docs/guide/proofs.md says what stands in them here. */
export const BootProof = Type.Object(
  {
    ephemeralPublicKeyHex: Type.String(),
    awsAttestationDocB64: Type.String(),
    qosManifestB64: Type.String(),
    qosManifestEnvelopeB64: Type.String(),
    deploymentLabel: Type.String(),
    enclaveApp: Type.String(),
    owner: Type.String(),
    createdAt: Timestamp,
    qosManifestVersion: Type.Optional(Type.String()),
  },
  { $id: "BootProof" },
);

const base64 = (text: string): string => Buffer.from(text).toString("base64");

export const bootProofOf = (row: BootProofRow): Static<typeof BootProof> => ({
  ephemeralPublicKeyHex: row.ephemeral_public_key,
  awsAttestationDocB64: base64(row.attestation),
  qosManifestB64: base64(row.manifest),
  qosManifestEnvelopeB64: base64(row.manifest_envelope),
  deploymentLabel: row.deployment_label,
  enclaveApp: APP_NAME,
  owner: "self-hosted",
  createdAt: timestampOf(row.started_at),
  qosManifestVersion: "keystead-1",
});
