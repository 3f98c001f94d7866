import { Type } from "typebox";
import { markPrivateKeyExported } from "../../authority/rules/private-keys.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { sealedEnvelope, TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { lookUpSigningKey, signingKeyFacts } from "../signing/store.ts";

export const exportPrivateKey = activity({
  path: "export_private_key",
  summary: "Get a private key, encrypted to your own P-256 key. The key stays usable and is marked as exported.",
  asks: ["exportKey", "signStatements"],
  intent: Strict({ privateKeyId: Id, targetPublicKey: TargetPublicKey }),
  result: Type.Object({ privateKeyId: Type.String(), exportBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "EXPORT" }),
  policyFacts: ({ intent, read, organization }) => signingKeyFacts(read, organization.id, intent.privateKeyId),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer }) {
    const { privateKeyId: id } = intent;
    const key = await lookUpSigningKey(read, organization.id, id);
    if (!key) return fail("RESOURCE_NOT_FOUND", { kind: "private key", id, organizationId: organization.id });
    const { reference } = key;
    const targetPublicKey = targetOf(intent);
    const message = await signer.ask({
      verb: "exportKey",
      ...keyOwnerOf(organization),
      key: reference,
      targetPublicKey,
    });
    return sealedEnvelope({ read, signer }, organization.id, message);
  },
  change: ({ view, intent: { privateKeyId }, now }) =>
    changesOn(view, (draft) => markPrivateKeyExported(draft, privateKeyId, now)),
  answer: ({ intent: { privateKeyId }, prepared: exportBundle }) => ({ privateKeyId, exportBundle }),
});
