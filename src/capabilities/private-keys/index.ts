import { capability } from "../../engine/capability.ts";
import { createPrivateKeys } from "./create-private-keys.ts";
import { deletePrivateKeys } from "./delete-private-keys.ts";
import { exportPrivateKey } from "./export-private-key.ts";
import { getPrivateKey } from "./get-private-key.ts";
import { importPrivateKey } from "./import-private-key.ts";
import { initImportPrivateKey } from "./init-import-private-key.ts";
import { listPrivateKeys } from "./list-private-keys.ts";

export const privateKeys = capability({
  title: "Private keys",
  operations: [
    createPrivateKeys,
    deletePrivateKeys,
    initImportPrivateKey,
    importPrivateKey,
    exportPrivateKey,
    getPrivateKey,
    listPrivateKeys,
  ],
  erases: ["private_key_addresses", "private_keys"],
  large: ["private_key_addresses", "private_keys"],
});
