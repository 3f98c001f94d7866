import { createRequire } from "node:module";

/**
 * libsecp256k1 itself. The package would load an implementation in JavaScript in its place where it has none for the platform,
 * and say nothing: slower by far, and neither constant in time nor what this service is tested with. So its binding is loaded
 * alone. Without it nothing here signs or verifies, and the signer does not open.
 */

type Library = typeof import("secp256k1");

const loaded = load();

/** Undefined, and of no use, where `secp256k1Problem` says why. */
export const secp256k1 = loaded.library as Library;
/** Why the library could not be loaded, and the remedy, in words for the operator. */
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
