import { createWallet } from "./create-wallet.ts";
import { createWalletAccounts } from "./create-wallet-accounts.ts";
import { deleteWalletAccounts } from "./delete-wallet-accounts.ts";
import { deleteWallets } from "./delete-wallets.ts";
import { getWallet } from "./get-wallet.ts";
import { getWalletAccount } from "./get-wallet-account.ts";
import { listWalletAccounts } from "./list-wallet-accounts.ts";
import { listWallets } from "./list-wallets.ts";
import { updateWallet } from "./update-wallet.ts";

export const wallets = [
  createWallet,
  createWalletAccounts,
  updateWallet,
  deleteWallets,
  deleteWalletAccounts,
  getWallet,
  getWalletAccount,
  listWallets,
  listWalletAccounts,
];
