import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { writeConsoleOperations } from "./console-operations.ts";
import { BUILT_FROM, digestOfSources, isBuilt } from "./console-sources.js";
import { moveInto } from "./move-into.ts";

/**
 * `npm run build:console`: the console as the server serves it, in `console/dist`. It is put in its place whole, so that several who
 * build at once, or a server that reads it, never see half of one.
 */

const root = fileURLToPath(new URL("../console", import.meta.url));
const place = join(root, "dist");

export async function buildConsole(): Promise<void> {
  const digest = digestOfSources();
  writeConsoleOperations();
  const outDir = join(root, `dist.${process.pid}`);
  try {
    await buildIn(outDir);
    initialBytes(outDir);
    writeFileSync(join(outDir, BUILT_FROM), `${digest}\n`);
    moveInto(place, outDir, isBuilt);
  } finally {
    remove(outDir);
  }
}

async function buildIn(outDir: string): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    plugins: [react()],
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  await buildFrames(join(outDir, "frames"));
}

/** The pages that other sites show in a frame; they share nothing with the console but the place where they are built. */
async function buildFrames(outDir: string): Promise<void> {
  const frames = fileURLToPath(new URL("../console/frames", import.meta.url));
  const pages = readdirSync(frames).filter((name) => name.endsWith(".html"));
  await build({
    root: frames,
    base: "/frames/",
    configFile: false,
    logLevel: "warn",
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rollupOptions: { input: pages.map((name) => join(frames, name)) },
    },
  });
}

const MAX_INITIAL_BYTES = 300_000;

/** What a browser loads before anything is seen, gzipped. @throws Error where that is too much */
function initialBytes(built: string): number {
  const html = readFileSync(join(built, "index.html"), "utf8");
  const scripts = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path as string);
  const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(join(built, path))).length, 0);
  if (scripts.length === 0 || bytes > MAX_INITIAL_BYTES) {
    throw new Error(`the console loads ${bytes} bytes of JavaScript at first, over ${MAX_INITIAL_BYTES}`);
  }
  return bytes;
}

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

if (import.meta.main) {
  await buildConsole();
  process.stdout.write(`built; its first JavaScript is ${Math.round(initialBytes(place) / 1000)} kB gzipped\n`);
}
