import { spawnSync } from "node:child_process";

/** A disk of so many KiB at a folder, which one command alone sees: what its shell runs before it (`shellPrefix`). */
export const smallDiskAt = (folder: string, kibibytes: number): string =>
  `exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=${kibibytes}k none "${folder}" && exec "$0" "$@"' "$0" "$@"`;

/** Why a test that needs such a disk is skipped; false where there can be one. */
export function noSmallDisks(folder: string): string | false {
  const { status } = spawnSync("/bin/sh", ["-c", smallDiskAt(folder, 100), "true"]);
  return status === 0 ? false : "this machine lets nobody mount a disk of their own";
}
