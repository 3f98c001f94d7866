import { createPrivateKeys } from "./create-private-keys.ts";
import { deletePrivateKeys } from "./delete-private-keys.ts";
import { getPrivateKey } from "./get-private-key.ts";
import { listPrivateKeys } from "./list-private-keys.ts";

export const privateKeys = [createPrivateKeys, deletePrivateKeys, getPrivateKey, listPrivateKeys];
