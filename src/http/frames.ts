import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Assets, assetsRoute, loadAssets } from "./assets.ts";
import { contentSecurityPolicy } from "./content-security-policy.ts";
import { once } from "./once.ts";
import type { Mount, RouteAnswer } from "./route.ts";

/** The pages that wallet apps show in a frame, built by `npm run build:console`. */

const BUILT = new URL("../../console/dist/frames/", import.meta.url);
const BELOW = "/frames/";
const ASSETS = `${BELOW}assets/`;
const FRAMES = ["auth", "import", "export"] as const;

export const areFramesBuilt = (folder: URL = BUILT): boolean =>
  FRAMES.every((name) => existsSync(pageIn(folder, name)));

/** @param origins the pages that may show them, in the form of `frame-ancestors` in a content security policy */
export function framePages(origins: readonly string[], folder: URL = BUILT): Mount {
  const built = once(() => loadFrames(folder));
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": contentSecurityPolicy({}, origins.join(" ")),
    "permissions-policy": PERMISSIONS,
    "referrer-policy": "no-referrer",
  };
  return {
    routes: [
      ...FRAMES.map((name) => ({
        method: "GET" as const,
        path: `${BELOW}${name}`,
        accept: () => async (): Promise<RouteAnswer> => {
          const body = (await built()).pages[name] as string;
          return { headers, body, isFramed: true };
        },
      })),
      assetsRoute(ASSETS, async () => (await built()).assets),
    ],
  };
}

interface Frames {
  /** By name. */
  pages: Record<string, string>;
  assets: Assets;
}

async function loadFrames(folder: URL): Promise<Frames> {
  const pages: Record<string, string> = {};
  for (const name of FRAMES) pages[name] = await readFile(pageIn(folder, name), "utf8");
  return { pages, assets: await loadAssets(new URL("assets/", folder), ASSETS) };
}

const pageIn = (folder: URL, name: string): URL => new URL(`${name}.html`, folder);

const PERMISSIONS =
  "camera=(), geolocation=(), microphone=(), payment=(), usb=(), publickey-credentials-create=(), publickey-credentials-get=()";
