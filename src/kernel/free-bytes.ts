import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** What a process without special rights may still write where the path is; undefined where the file system does not say. */
export function freeBytesAt(path: string): number | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}

/** The path, or the folder above it in which it will be made. */
export function nearestThere(path: string): string {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}
