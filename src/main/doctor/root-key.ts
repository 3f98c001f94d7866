import { existsSync } from "node:fs";
import { type Config, StartProblem } from "../config.ts";
import { signerWithRootKey } from "../root-key/signer.ts";
import type { DatabaseSeen } from "./database.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { hiddenBy, hiddenText } from "./reach.ts";

const CHECK = "root key";

/** Has a signer open the root key, and compares its id with the one in the database. Never creates a key. */
export async function checkRootKey(config: Config, known: DatabaseSeen["rootKey"]): Promise<Finding> {
  const { rootKeyFile } = config;
  const hidden = hiddenBy(rootKeyFile);
  if (hidden !== undefined) return fail(CHECK, hiddenText(rootKeyFile, hidden));
  // The signer would treat the database as one that contains keys.
  if (!existsSync(rootKeyFile) && (known === "none yet" || known === "unknown"))
    return warn(CHECK, missingText(rootKeyFile, known));
  try {
    const signer = await signerWithRootKey(config);
    const { rootKeyIds } = signer;
    await signer.close();
    return verdict(config, known, rootKeyIds);
  } catch (error) {
    if (error instanceof StartProblem) return fail(CHECK, error.message);
    throw error;
  }
}

const missingText = (file: string, known: "none yet" | "unknown"): string =>
  known === "none yet"
    ? `${file} does not exist yet; the first start creates it. Then keep a copy of it apart from the database`
    : `${file} does not exist, and it could not be read from the database whether it holds keys sealed with one. If it does, restore the file from its backup`;

function verdict({ rootKeyFile }: Config, known: DatabaseSeen["rootKey"], ids: readonly string[]): Finding {
  if (known === "unknown") {
    return warn(
      CHECK,
      `${rootKeyFile} can be opened, but it could not be read from the database whether this is the right one`,
    );
  }
  if (known === "none yet") return ok(CHECK, `${rootKeyFile} can be opened`);
  if (!ids.includes(known.current)) {
    return fail(
      CHECK,
      `the root key in ${rootKeyFile} is not the one that sealed the keys in this database; point KEYSTEAD_ROOT_KEY_FILE to the right file, or DATABASE_URL to the right database. After a rotation, copy the file from the server on which it was rotated`,
    );
  }
  if (known.previous !== undefined) {
    const text = "a rotation of the root key is not complete; run: keystead root-key rotate";
    if (ids.includes(known.previous)) return warn(CHECK, text);
    return fail(CHECK, `${text}, with a copy of ${rootKeyFile} that still contains the previous root key`);
  }
  if (ids.length === 1) return ok(CHECK, `${rootKeyFile} can be opened`);
  return warn(
    CHECK,
    `${rootKeyFile} contains a root key that is not in use: before a rotation, run keystead root-key rotate; after one, keystead root-key retire`,
  );
}
