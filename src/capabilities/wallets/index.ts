import { capability } from "../../engine/capability.ts";
import { createWallet } from "./create-wallet.ts";
import { createWalletAccounts } from "./create-wallet-accounts.ts";
import { deleteWalletAccounts } from "./delete-wallet-accounts.ts";
import { deleteWallets } from "./delete-wallets.ts";
import { exportWallet } from "./export-wallet.ts";
import { exportWalletAccount } from "./export-wallet-account.ts";
import { getWallet } from "./get-wallet.ts";
import { getWalletAccount } from "./get-wallet-account.ts";
import { importWallet } from "./import-wallet.ts";
import { initImportWallet } from "./init-import-wallet.ts";
import { listWalletAccounts } from "./list-wallet-accounts.ts";
import { listWallets } from "./list-wallets.ts";
import { updateWallet } from "./update-wallet.ts";

export const wallets = capability({
  title: "Wallets",
  operations: [
    createWallet,
    createWalletAccounts,
    updateWallet,
    deleteWallets,
    deleteWalletAccounts,
    initImportWallet,
    importWallet,
    exportWallet,
    exportWalletAccount,
    getWallet,
    getWalletAccount,
    listWallets,
    listWalletAccounts,
  ],
  erases: ["wallet_accounts", "wallets"],
  large: ["wallet_accounts", "wallets"],
});
