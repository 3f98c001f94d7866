#!/usr/bin/env node
// Plain JavaScript that every Node can read: it finds a Node that can run the rest.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const MIN_MAJOR = 24;
const inPackage = (path) => new URL(`../${path}`, import.meta.url);

if (Number(process.versions.node.split(".")[0]) < MIN_MAJOR) {
  const pinned = fileURLToPath(inPackage("node_modules/node/bin/node"));
  if (!existsSync(pinned)) {
    process.stderr.write(`keystead needs Node ${MIN_MAJOR} or newer; this is ${process.version}. Run: npm ci\n`);
    process.exit(1);
  }
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  process.exit(await new Promise((resolve) => child.once("exit", (status) => resolve(status ?? 1))));
}

// Not in the shared folder for temporary files: what is cached there is code.
module.enableCompileCache(fileURLToPath(inPackage("node_modules/.cache/keystead")));
const source = inPackage("src/main/cli.ts");
await import(existsSync(source) ? source.href : inPackage("dist/main/cli.js").href);
