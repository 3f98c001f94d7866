import { Type } from "typebox";
import { markSecretsExported } from "../../authority/rules/secrets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { sealedEnvelopes } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import type { HpkeMessage } from "../../signer/protocol.ts";
import { ExportSecretsIntent, factsOfSecrets, parseExport } from "./model.ts";
import { findSecrets, requireSecrets } from "./store.ts";

const idsOf = ({ secrets }: ExportSecretsIntent) => secrets.map(({ secretId }) => secretId);

export const exportSecrets = activity({
  path: "export_secrets",
  summary: "Get secrets, each encrypted to your own P-256 key: all of them, or none.",
  asks: ["exportSecret", "signStatements"],
  intent: ExportSecretsIntent,
  result: Type.Object({ secretPayloads: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "SECRET", action: "EXPORT" }),
  async policyFacts({ intent, read, organization }) {
    const ids = idsOf(intent);
    const secrets = await findSecrets(read, organization.id, ids);
    return factsOfSecrets([...secrets.values()], ids.length);
  },
  check: (intent) => void parseExport(intent),
  prepare,
  change: ({ view, intent }) => changesOn(view, (draft) => markSecretsExported(draft, idsOf(intent))),
  answer: ({ prepared: secretPayloads }) => ({ secretPayloads }),
});

async function prepare({
  intent,
  read,
  organization,
  signer,
}: PrepareContext<ExportSecretsIntent, "exportSecret" | "signStatements">): Promise<string[]> {
  const targetPublicKeys = parseExport(intent);
  const secrets = await requireSecrets(read, organization.id, idsOf(intent));
  const messages: HpkeMessage[] = [];
  for (const [index, { id, sealedSecret }] of secrets.entries()) {
    const message = await signer.ask({
      verb: "exportSecret",
      ...keyOwnerOf(organization),
      secretId: id,
      sealedSecret: Buffer.from(sealedSecret).toString("base64"),
      targetPublicKey: targetPublicKeys[index] as string,
    });
    messages.push(message);
  }
  return sealedEnvelopes({ read, signer }, organization.id, messages);
}
