import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** The free bytes at a path for a process without special rights. Undefined if the file system does not report it. */
export function freeBytesAt(path: string): number | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}

/** The path if it exists, or its nearest parent folder that exists. */
export function nearestThere(path: string): string {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}
