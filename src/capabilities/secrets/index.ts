import { capability } from "../../engine/capability.ts";
import { deleteSecrets } from "./delete-secrets.ts";
import { exportSecrets } from "./export-secrets.ts";
import { importSecrets } from "./import-secrets.ts";
import { initImportSecrets } from "./init-import-secrets.ts";
import { listSecrets } from "./list-secrets.ts";

export const secrets = capability({
  title: "Secrets",
  operations: [initImportSecrets, importSecrets, exportSecrets, deleteSecrets, listSecrets],
  erases: ["secrets"],
});
