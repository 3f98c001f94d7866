import { Type } from "typebox";
import { markWalletExported } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { MNEMONIC_LANGUAGES } from "../../crypto/mnemonic-languages.ts";
import { activity } from "../../engine/declare.ts";
import { Id, OneOf, Strict } from "../../engine/fields.ts";
import { sealedEnvelope, TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { requireSealedWallet, walletFacts } from "./store.ts";

export const exportWallet = activity({
  path: "export_wallet",
  summary:
    "Get the mnemonic of a wallet, encrypted to your own P-256 key. The wallet stays usable and is marked as exported.",
  asks: ["exportWallet", "signStatements"],
  intent: Strict({
    walletId: Id,
    targetPublicKey: TargetPublicKey,
    language: Type.Optional(OneOf(MNEMONIC_LANGUAGES)),
  }),
  result: Type.Object({ walletId: Type.String(), exportBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "EXPORT" }),
  async policyFacts({ intent: { walletId }, read, organization }) {
    const [wallet] = await walletFacts(read, organization.id, [walletId]);
    return wallet ? { wallet } : {};
  },
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer }) {
    const { walletId, language } = intent;
    const { sealedWallet } = await requireSealedWallet(read, organization.id, walletId);
    const message = await signer.ask({
      verb: "exportWallet",
      ...keyOwnerOf(organization),
      walletId,
      sealedWallet: Buffer.from(sealedWallet).toString("base64"),
      targetPublicKey: targetOf(intent),
      ...(language === undefined ? {} : { language }),
    });
    return sealedEnvelope({ read, signer }, organization.id, message);
  },
  change: ({ view, intent: { walletId }, now }) => changesOn(view, (draft) => markWalletExported(draft, walletId, now)),
  answer: ({ intent: { walletId }, prepared: exportBundle }) => ({ walletId, exportBundle }),
});
