import { createLogger } from "../../kernel/log.ts";
import { type SignerOptions, SignerProcess, SignerRefused } from "../../signer/client.ts";
import type { Config } from "../config.ts";
import { StartProblem } from "../config.ts";

/**
 * A signer with the root key in a file, which is never created. It does not report the keys that it uses.
 *
 * @throws StartProblem
 */
export async function signerWithRootKey(
  { rootKeyFile, rootKeyPassphrase }: Pick<Config, "rootKeyFile" | "rootKeyPassphrase">,
  options: Pick<SignerOptions, "sealsWith" | "mayReplaceRootKeyFile"> = {},
): Promise<SignerProcess> {
  const { signer, opened } = await SignerProcess.start({
    rootKeyFile,
    passphrase: rootKeyPassphrase,
    mayCreateRootKey: false,
    seedCache: { entries: 0, lifetimeMs: 0 },
    recordUses: false,
    ...options,
    log: createLogger("silent"),
  }).catch((error: unknown) => {
    if (error instanceof SignerRefused) throw new StartProblem(error.message);
    throw new StartProblem(`the signer process could not be started: ${(error as Error).message}`);
  });
  if (opened.state === "open") return signer;
  await signer.close();
  throw new StartProblem(
    `the root key file ${rootKeyFile} is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE`,
  );
}
