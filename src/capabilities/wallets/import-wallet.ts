import type { Static } from "typebox";
import { addWallet } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, Label, Strict } from "../../engine/fields.ts";
import { EncryptedBundle, parseEncryptedBundle } from "../../engine/keys/bundle-envelopes.ts";
import { importRequestOf, takenImport, useUpImportKey } from "../../engine/keys/import-keys.ts";
import { MAX_MNEMONIC_BYTES } from "../../kernel/limits.ts";
import { AccountsParams, checkAccounts, WalletResult } from "./model.ts";
import { accountsOf, accountsToProve, addAccounts, type NewWallet } from "./store.ts";

const FIELD = "parameters.encryptedBundle";

const Intent = Strict({
  userId: Id,
  walletName: Label,
  encryptedBundle: EncryptedBundle(MAX_MNEMONIC_BYTES),
  accounts: AccountsParams,
});
type Intent = Static<typeof Intent>;

const bundleOf = ({ encryptedBundle }: Intent) => parseEncryptedBundle(encryptedBundle, FIELD, MAX_MNEMONIC_BYTES);

export const importWallet = activity({
  path: "import_wallet",
  summary: "Store a wallet whose mnemonic was encrypted to the key from `init_import_wallet`, and accounts in it.",
  asks: ["importWallet"],
  intent: Intent,
  result: WalletResult,
  subject: ({ userId }) => ({ governedBy: "policies", resource: "WALLET", action: "IMPORT", onlyUserId: userId }),
  check(intent) {
    checkAccounts(intent.accounts, "parameters.accounts");
    bundleOf(intent);
  },
  prepare,
  addresses: ({ prepared: { wallet } }) => accountsToProve(wallet, wallet.accounts),
  change: ({ view, now, prepared: { wallet } }) => changesOn(view, (draft) => addWallet(draft, wallet, now)),
  answer: ({ prepared: { wallet } }) => ({
    walletId: wallet.id,
    addresses: wallet.accounts.map(({ address }) => address),
  }),
  async alsoStore({ tx, organization, now, prepared: { importId, wallet } }) {
    await useUpImportKey(tx, organization.id, importId, FIELD);
    await addAccounts(tx, organization.id, wallet.id, wallet.accounts, now);
  },
});

async function prepare(context: PrepareContext<Intent, "importWallet">) {
  const { intent, signer, id } = context;
  const { walletName, accounts } = intent;
  const walletId = id("wallet");
  const request = await importRequestOf(context, bundleOf(intent));
  const answer = await signer.ask({
    verb: "importWallet",
    ...request,
    walletId,
    accounts: accounts.map(({ curve, path }) => ({ curve, path })),
  });
  const words = "a BIP-39 mnemonic in one of its languages, with single spaces between the words and a valid checksum";
  const { importId, sealedWallet, publicKeys } = takenImport(answer, FIELD, words);
  const wallet: NewWallet = {
    id: walletId,
    name: walletName,
    sealedWallet: Buffer.from(sealedWallet, "base64"),
    imported: true,
    accounts: accountsOf(accounts, publicKeys, id),
  };
  return { importId, wallet };
}
