import { type Static, Type } from "typebox";
import { Timestamp, timestampOf } from "../../engine/fields.ts";
import type { BootProofRow } from "../../engine/proofs/boot-proofs.ts";

/** The only part of this service that issues proofs. */
export const APP_NAME = "signer";

export const EphemeralKey = Type.String({
  pattern: "^[0-9a-fA-F]{260}$",
  description: "the 130 bytes of an app proof's publicKey in hex",
});

/** The field names are those that published clients expect; docs/guide/proofs.md describes their contents on this server. */
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
