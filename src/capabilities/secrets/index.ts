import { exportSecrets } from "./export-secrets.ts";
import { importSecrets } from "./import-secrets.ts";
import { initImportSecrets } from "./init-import-secrets.ts";
import { listSecrets } from "./list-secrets.ts";

export const secrets = [initImportSecrets, importSecrets, exportSecrets, listSecrets];
