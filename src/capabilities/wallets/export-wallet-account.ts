import { Type } from "typebox";
import { parsePath } from "../../crypto/hd-path.ts";
import { sealedEnvelope, TargetPublicKey, targetOf } from "../../engine/bundle-envelopes.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ADDRESS_LENGTH } from "../../kernel/limits.ts";
import { findAccounts, markAccountsExported, requireSealedWallet, walletFacts } from "./store.ts";

export const exportWalletAccount = activity({
  path: "export_wallet_account",
  summary:
    "Get the key of a wallet's account encrypted to a P-256 key of one's own; the account is marked as exported.",
  intent: Strict({
    address: Type.String({ minLength: 1, maxLength: MAX_ADDRESS_LENGTH }),
    targetPublicKey: TargetPublicKey,
  }),
  result: Type.Object({ address: Type.String(), exportBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "EXPORT" }),
  async policyFacts({ intent, read, organization }) {
    const [account] = await findAccounts(read, organization.id, intent);
    if (!account) return {};
    const [wallet] = await walletFacts(read, organization.id, [account.walletId]);
    const levels = parsePath(account.path);
    const facts = {
      address: account.address,
      path_indexes: levels.map(({ index }) => index),
      path_hardened: levels.map(({ hardened }) => hardened),
    };
    return { wallet_account: facts, ...(wallet ? { wallet } : {}) };
  },
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer }) {
    const [account] = await findAccounts(read, organization.id, intent);
    if (!account) return accountNotFound(intent.address, organization.id);
    const { walletId, curve, path } = account;
    const { sealedWallet } = await requireSealedWallet(read, organization.id, walletId);
    const message = await signer.ask({
      verb: "exportKey",
      ...keyOwnerOf(organization),
      key: {
        kind: "walletAccount",
        walletId,
        sealedWallet: Buffer.from(sealedWallet).toString("base64"),
        curve,
        path,
      },
      targetPublicKey: targetOf(intent),
    });
    return { account, exportBundle: await sealedEnvelope({ read, signer }, organization.id, message) };
  },
  async run({ intent, tx, organization, now, prepared: { account, exportBundle } }) {
    // The facts that were decided on are those of the first account; another one must not have taken its place.
    const [first] = await findAccounts(tx, organization.id, intent);
    if (first?.walletAccountId !== account.walletAccountId) return accountNotFound(intent.address, organization.id);
    await markAccountsExported(tx, organization.id, account, now);
    return { address: account.address, exportBundle };
  },
});

const accountNotFound = (address: string, organizationId: string): never =>
  fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id: address, organizationId });
