import { createRequire } from "node:module";

/**
 * The native binding of libsecp256k1. If the package has no binary for the platform, it silently loads an implementation in JavaScript,
 * which is far slower, not constant-time, and not what this service is tested with. So only the binding is loaded. Without it nothing here
 * signs or verifies, and the signer does not open.
 */

type Library = typeof import("secp256k1");

const loaded = load();

/** Undefined if the library could not be loaded; `secp256k1Problem` says why. */
export const secp256k1 = loaded.library as Library;
/** Why the library could not be loaded, and the remedy, as a message for the operator. */
export const secp256k1Problem = loaded.problem;

function load(): { library?: Library; problem?: string } {
  try {
    return { library: createRequire(import.meta.url)("secp256k1/bindings.js") as Library };
  } catch (error) {
    const [reason] = (error as Error).message.split("\n");
    return { problem: problemOf(reason as string) };
  }
}

function problemOf(reason: string): string {
  const where = `libsecp256k1 cannot be loaded on ${process.platform}-${process.arch} (${reason})`;
  const remedy = "install on linux-x64, darwin-arm64 or win32-x64, or build it with Python, make and a C++ compiler";
  return `${where}, and nothing else signs in its place; ${remedy}: npm rebuild secp256k1`;
}
