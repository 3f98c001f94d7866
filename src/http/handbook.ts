import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail } from "../kernel/errors.ts";
import { contentSecurityPolicy, ownScripts } from "./content-security-policy.ts";
import { once } from "./once.ts";
import type { Mount, RequestHead, RouteAnswer } from "./route.ts";
import { type StaticFile, staticFile } from "./static-file.ts";

/** The handbook: pages and their assets, built by `npm run docs`. */

const BUILT = new URL("../../handbook/dist/", import.meta.url);
const BELOW = "/handbook/";
const PAGE = ".html";
/** Files below are named after their content, so that a browser may cache them permanently. */
const ASSETS = `${BELOW}assets/`;

const CONTENT_TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

export const isHandbookBuilt = (folder: URL = BUILT): boolean => existsSync(new URL("index.html", folder));

/** Serves the files that the folder contains at the first request, and nothing else. Paths are looked up, never joined. */
export function handbookPages(folder: URL = BUILT): Mount {
  const files = once(() => filesIn(folder));
  return {
    routes: [
      {
        method: "GET",
        path: BELOW.slice(0, -1),
        accept: () => () => ({ status: 302, headers: { location: BELOW }, body: "" }),
      },
      {
        method: "GET",
        path: `${BELOW}*`,
        accept: (head) => async () => answerTo(head, await files()),
      },
    ],
  };
}

/** By path. Each file is read at its first request. Undefined if it no longer exists, for example during a new build. */
type Files = ReadonlyMap<string, () => Promise<StaticFile | undefined>>;

async function filesIn(folder: URL): Promise<Files> {
  const root = fileURLToPath(folder);
  const found = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return new Map(
    found.flatMap(({ parentPath, name }): [string, () => Promise<StaticFile | undefined>][] => {
      const type = CONTENT_TYPES[name.slice(name.lastIndexOf("."))];
      if (type === undefined) return [];
      const file = join(parentPath, name);
      const path = `${BELOW}${file.slice(root.length)}`;
      const load = once(async () => loaded(path, type, await readFile(file)));
      return [[path, () => load().catch(undefinedIfGone)]];
    }),
  );
}

function undefinedIfGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

const loaded = (path: string, type: string, content: Buffer): Promise<StaticFile> =>
  staticFile(content, {
    "content-type": type,
    "cache-control": path.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-cache",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    ...(type === CONTENT_TYPES[PAGE] ? { "content-security-policy": policyOfPage(content.toString()) } : {}),
  });

const policyOfPage = (html: string): string =>
  contentSecurityPolicy({ "script-src": ownScripts(html), "img-src": "'self' data:" });

/** The path of a page has no file extension. The path of a folder returns its first page. */
async function answerTo(head: RequestHead, files: Files): Promise<RouteAnswer> {
  const { path } = head;
  const file = files.get(path) ?? files.get(path.endsWith("/") ? `${path}index${PAGE}` : `${path}${PAGE}`);
  const found = await file?.();
  if (found) return found.answer(head);
  const missing = await files.get(`${BELOW}404${PAGE}`)?.();
  if (missing && !path.startsWith(ASSETS)) return { ...missing.answer({ ...head, headers: {} }), status: 404 };
  return fail("ROUTE_NOT_FOUND", { method: "GET", path: `${BELOW}*` });
}
