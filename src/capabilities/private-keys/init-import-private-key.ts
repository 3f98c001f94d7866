import { initImport } from "../../engine/keys/init-import.ts";
import { durationText } from "../../kernel/durations.ts";
import { IMPORT_KEY_LIFETIME_MS } from "../../kernel/limits.ts";

export const initImportPrivateKey = initImport({
  path: "init_import_private_key",
  summary: `Get a key to which a private key can be encrypted, for one import by the same user within ${durationText(IMPORT_KEY_LIFETIME_MS)}.`,
  resource: "PRIVATE_KEY",
});
