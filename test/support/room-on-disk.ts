import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";

/** Has every file system say that so many bytes are free, until the test ends; undefined has each speak for itself. */
export function roomOnDisk(test: TestContext): (bytes: number | undefined) => void {
  const { statfsSync } = fs;
  const set = (bytes: number | undefined) => {
    fs.statfsSync = (
      bytes === undefined ? statfsSync : () => ({ bavail: bytes, blocks: 1, bsize: 1 })
    ) as typeof statfsSync;
    syncBuiltinESMExports();
  };
  test.after(() => set(undefined));
  return set;
}
