import { initImport } from "../../engine/keys/init-import.ts";

export const initImportPrivateKey = initImport({
  path: "init_import_private_key",
  summary: "Get a key to which a private key can be encrypted, for one import by the same user within 24 hours.",
  resource: "PRIVATE_KEY",
});
