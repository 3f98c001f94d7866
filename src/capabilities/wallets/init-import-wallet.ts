import { initImport } from "../../engine/keys/init-import.ts";

export const initImportWallet = initImport({
  path: "init_import_wallet",
  summary:
    "Get a key to which the mnemonic of a wallet can be encrypted, for one import by the same user within 24 hours.",
  resource: "WALLET",
});
