import { initImport } from "../../engine/keys/init-import.ts";

export const initImportPrivateKey = initImport({
  path: "init_import_private_key",
  summary: "Get a key to encrypt a private key to, for one import of one's own within 24 hours.",
  resource: "PRIVATE_KEY",
});
