import { initImport } from "../../engine/keys/init-import.ts";
import { durationText } from "../../kernel/durations.ts";
import { IMPORT_KEY_LIFETIME_MS } from "../../kernel/limits.ts";

export const initImportWallet = initImport({
  path: "init_import_wallet",
  summary: `Get a key to which the mnemonic of a wallet can be encrypted, for one import by the same user within ${durationText(IMPORT_KEY_LIFETIME_MS)}.`,
  resource: "WALLET",
});
