import { Type } from "typebox";
import { sealedEnvelope, TargetPublicKey, targetOf } from "../../engine/bundle-envelopes.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/key-owner.ts";
import { findKeyForPolicies, findKeyToExport, markPrivateKeyExported } from "./store.ts";

export const exportPrivateKey = activity({
  path: "export_private_key",
  summary: "Get a private key encrypted to a P-256 key of one's own; it stays usable and is marked as exported.",
  intent: Strict({ privateKeyId: Id, targetPublicKey: TargetPublicKey }),
  result: Type.Object({ privateKeyId: Type.String(), exportBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "EXPORT" }),
  async policyFacts({ intent, read, organization }) {
    const key = await findKeyForPolicies(read, organization.id, intent.privateKeyId);
    return key ? { private_key: key } : {};
  },
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer }) {
    const key = await findKeyToExport(read, organization.id, intent.privateKeyId);
    const message = await signer.ask({
      verb: "exportKey",
      ...keyOwnerOf(organization),
      key: {
        kind: "privateKey",
        keyId: key.id,
        curve: key.curve,
        sealedKey: Buffer.from(key.sealedKey).toString("base64"),
      },
      targetPublicKey: targetOf(intent),
    });
    return sealedEnvelope({ read, signer }, organization.id, message);
  },
  async run({ intent: { privateKeyId }, tx, organization, now, prepared: exportBundle }) {
    await markPrivateKeyExported(tx, organization.id, privateKeyId, now);
    return { privateKeyId, exportBundle };
  },
});
