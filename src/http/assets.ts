import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { fail } from "../kernel/errors.ts";
import type { Route } from "./route.ts";
import { type StaticFile, staticFile } from "./static-file.ts";

/** Scripts, style sheets and images of built pages, by path. */
export type Assets = ReadonlyMap<string, StaticFile>;

const CONTENT_TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** @param below the path under which the assets are served, with a slash at both ends */
export async function loadAssets(folder: URL, below: string): Promise<Assets> {
  const names = await readdir(fileURLToPath(folder));
  const assets = await Promise.all(
    names.flatMap((name) => {
      const type = CONTENT_TYPES[name.split(".").at(-1) as string];
      return type === undefined ? [] : [loadAsset(folder, below, name, type)];
    }),
  );
  return new Map(assets);
}

/** The build names each asset after its content, so that a browser may cache it permanently. */
async function loadAsset(
  folder: URL,
  below: string,
  name: string,
  type: string,
): Promise<[path: string, file: StaticFile]> {
  const file = await staticFile(await readFile(new URL(name, folder)), {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
  });
  return [`${below}${name}`, file];
}

/** Serves only these assets. Paths are looked up, never joined. */
export const assetsRoute = (below: string, assets: () => Promise<Assets>): Route => ({
  method: "GET",
  path: `${below}*`,
  accept: (head) => async () =>
    (await assets()).get(head.path)?.answer(head) ?? fail("ROUTE_NOT_FOUND", { method: "GET", path: `${below}*` }),
});
