import { initImport } from "../../engine/keys/init-import.ts";

export const initImportWallet = initImport({
  path: "init_import_wallet",
  summary: "Get a key to encrypt a wallet's words to, for one import of one's own within 24 hours.",
  resource: "WALLET",
});
