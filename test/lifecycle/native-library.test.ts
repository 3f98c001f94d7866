import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { KEYSTEAD, startServerProcess, temporaryFolder } from "../support/server-process.ts";

/** An installation where the native library is missing, as on a platform that nobody built it for. */

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
/** Where the program is that tests run. */
const PROGRAM = join(dirname(KEYSTEAD), "..");
const LIBRARY = "secp256k1";

/** A copy of the program with all packages; of the library's own files there is a copy too. */
function installationCopy(): { program: string; library: string } {
  const copy = temporaryFolder();
  const parts = ["bin", existsSync(join(PROGRAM, "src")) ? "src" : "dist", "package.json"];
  for (const name of parts) cpSync(join(PROGRAM, name), join(copy, name), { recursive: true });
  const packages = join(copy, "node_modules");
  mkdirSync(packages);
  for (const name of readdirSync(join(PACKAGE, "node_modules"))) {
    if (name !== LIBRARY && !name.startsWith(".")) {
      symlinkSync(join(PACKAGE, "node_modules", name), join(packages, name));
    }
  }
  const library = join(packages, LIBRARY);
  cpSync(join(PACKAGE, "node_modules", LIBRARY), library, { recursive: true });
  return { program: join(copy, "bin", "keystead.js"), library };
}

it("without the native libsecp256k1 nothing starts, and one line says how to get it", async () => {
  const { program, library } = installationCopy();
  const dataDir = temporaryFolder();
  const hidden = ["prebuilds", "build"].filter((name) => existsSync(join(library, name)));
  for (const name of hidden) renameSync(join(library, name), join(library, `${name} elsewhere`));

  await assert.rejects(startServerProcess({ dataDir, program }), ({ message }: Error) => {
    assert.match(
      message,
      /^the server ended with {"code":1,"signal":null}: keystead: libsecp256k1 cannot be loaded on /,
    );
    assert.match(message, /\(No native build was found [^\n]+\), [^\n]+: npm rebuild secp256k1\n$/);
    return true;
  });
  assert.ok(!existsSync(join(dataDir, "root.key")), "no root key was made");

  for (const name of hidden) renameSync(join(library, `${name} elsewhere`), join(library, name));
  const server = await startServerProcess({ dataDir, program });
  await server.end("SIGTERM");
});
