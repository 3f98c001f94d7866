import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Assets, assetsRoute, loadAssets } from "./assets.ts";
import { contentSecurityPolicy } from "./content-security-policy.ts";
import { once } from "./once.ts";
import type { Mount, RouteAnswer } from "./route.ts";

/** The console: one page and its assets, built by `npm run build:console`. */

/** The folder of the build, both in a clone and in an installed package. */
const BUILT = new URL("../../console/dist/", import.meta.url);
const PAGE = "index.html";
const ASSETS = "/assets/";

export const isConsoleBuilt = (folder: URL = BUILT): boolean => existsSync(new URL(PAGE, folder));

/** Serves the files that the folder contains at the first request, and nothing else. Paths are looked up, never joined. */
export function consolePages(folder: URL = BUILT): Mount {
  const built = once(() => loadConsole(folder));
  return {
    routes: [
      { method: "GET", path: "/", accept: () => async () => pageOf((await built()).html) },
      assetsRoute(ASSETS, async () => (await built()).assets),
    ],
  };
}

interface Console {
  html: string;
  assets: Assets;
}

const loadConsole = async (folder: URL): Promise<Console> => ({
  html: await readFile(new URL(PAGE, folder), "utf8"),
  assets: await loadAssets(new URL(`.${ASSETS}`, folder), ASSETS),
});

const NONCE_BYTES = 16;

/** The page with a fresh nonce, which allows the style sheets that its scripts create. */
function pageOf(html: string): RouteAnswer {
  const nonce = randomBytes(NONCE_BYTES).toString("base64");
  return {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": contentSecurityPolicy({
        "style-src": `'self' 'nonce-${nonce}'`,
        "img-src": "'self' data:",
      }),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "permissions-policy": PERMISSIONS,
      "referrer-policy": "no-referrer",
    },
    body: html.replace('nonce=""', `nonce="${nonce}"`),
  };
}

const PERMISSIONS =
  "camera=(), geolocation=(), microphone=(), payment=(), usb=(), publickey-credentials-create=(self), publickey-credentials-get=(self)";
