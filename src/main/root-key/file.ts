import type { SignerProcess } from "../../signer/client.ts";
import { SignerRefused } from "../../signer/client.ts";
import type { ReplaceRootKeyFileRequest } from "../../signer/protocol.ts";
import type { Database } from "../../storage/database.ts";
import type { Config } from "../config.ts";
import { StartProblem } from "../start-problem.ts";
import { refuseOtherFile, requireRootKeys } from "./remembered.ts";
import { sealedKeysOf } from "./rotate.ts";
import { signerWithRootKey } from "./signer.ts";

/** The file of root keys, and the commands that replace it. Only a signer reads and writes it. */

export interface ShownFile {
  file: string;
  /** The ids of its root keys. */
  rootKeyIds: string[];
  /** Whether it needs a passphrase. */
  protected: boolean;
}

/**
 * Adds a root key, which seals nothing before a rotation.
 *
 * @throws StartProblem
 */
export const addRootKey = (config: Config): Promise<ShownFile> => replace(config, "one more", config.rootKeyPassphrase);

/**
 * Protects the file with another passphrase, or with none.
 *
 * @throws StartProblem
 */
export const protectRootKeyFile = (config: Config, passphrase: string | undefined): Promise<ShownFile> =>
  replace(config, "same", passphrase);

/**
 * Removes the root key from before a rotation, if nothing in the database is sealed with it any more.
 *
 * @throws StartProblem
 */
export async function retireRootKey(
  config: Config,
  database: Pick<Database, "read">,
  onProgress: (done: number, all: number) => void,
): Promise<ShownFile> {
  const remembered = await requireRootKeys(database.read);
  const { current, previous, next } = remembered;
  const again = "run: keystead root-key rotate";
  if (previous !== undefined) throw new StartProblem(`the rotation of the root key is not complete; ${again}`);
  return withFile(config, current, async (signer) => {
    const { rootKeyIds } = signer;
    refuseOtherFile(config.rootKeyFile, rootKeyIds, remembered);
    if (rootKeyIds.length === 1) {
      throw new StartProblem(`the root key file ${config.rootKeyFile} contains only the root key that is in use`);
    }
    if (next !== undefined && rootKeyIds.includes(next)) {
      throw new StartProblem(`a rotation to ${next} was begun; ${again}`);
    }
    for await (const sealed of sealedKeysOf(database, signer, onProgress)) {
      const found = sealed.find(({ before, after }) => after !== null && after !== before);
      if (!found) continue;
      throw new StartProblem(
        `the key of organization ${found.organizationId} is still sealed with the root key to be removed; ${again}`,
      );
    }
    return replaced(config, signer, "the one that seals", config.rootKeyPassphrase);
  });
}

const replace = (
  config: Config,
  keys: ReplaceRootKeyFileRequest["keys"],
  passphrase: string | undefined,
): Promise<ShownFile> => withFile(config, undefined, (signer) => replaced(config, signer, keys, passphrase));

async function withFile<T>(
  config: Config,
  sealsWith: string | undefined,
  use: (signer: SignerProcess) => Promise<T>,
): Promise<T> {
  const signer = await signerWithRootKey(config, { sealsWith, mayReplaceRootKeyFile: true });
  try {
    return await use(signer);
  } catch (error) {
    if (error instanceof SignerRefused) throw new StartProblem(error.message);
    throw error;
  } finally {
    await signer.close();
  }
}

async function replaced(
  { rootKeyFile: file }: Config,
  signer: SignerProcess,
  keys: ReplaceRootKeyFileRequest["keys"],
  passphrase: string | undefined,
): Promise<ShownFile> {
  const request = { verb: "replaceRootKeyFile", keys, ...(passphrase === undefined ? {} : { passphrase }) } as const;
  const { rootKeyIds } = await signer.ask(request);
  return { file, rootKeyIds, protected: passphrase !== undefined };
}
