#!/usr/bin/env node
// Plain JavaScript that every version of Node since 20 can run. It finds a Node that can run the rest.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const MIN_MAJOR = 24;
const inPackage = (path) => new URL(`../${path}`, import.meta.url);

if (Number(process.versions.node.split(".")[0]) < MIN_MAJOR) await runUnderPinnedNode();
else await run();

/** The Node that is installed as one of our dependencies; undefined on platforms without one. */
function pinnedNode() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}

async function runUnderPinnedNode() {
  const pinned = pinnedNode();
  if (pinned === undefined) {
    process.stderr.write(
      `keystead needs Node ${MIN_MAJOR} or newer; this is ${process.version}, and the Node that comes with Keystead is not installed. ` +
        `Install Node ${MIN_MAJOR}, or reinstall Keystead with its optional dependencies\n`,
    );
    process.exit(1);
  }
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(pinned, args, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  // Signals are forwarded as messages, so that the child can tell them from those that a terminal or a supervisor sent it directly.
  const pass = (signal) => child.connected && child.send(signal);
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"];
  for (const signal of signals) process.on(signal, pass);
  const [code, endedBy] = await new Promise((resolve) => child.once("exit", (...how) => resolve(how)));
  for (const signal of signals) process.removeListener(signal, pass);
  if (endedBy) process.kill(process.pid, endedBy);
  else process.exit(code);
}

async function run() {
  if (process.send) hearPassedSignals();
  // The cache contains code, so it must not be in the shared folder for temporary files.
  module.enableCompileCache(fileURLToPath(inPackage("node_modules/.cache/keystead")));
  const source = inPackage("src/main/cli.ts");
  await import(existsSync(source) ? source.href : inPackage("dist/main/cli.js").href);
}

/** Under an older Node, the parent forwards signals as messages. When the parent ends, the channel closes. */
function hearPassedSignals() {
  const raise = (signal) => process.emit(signal, signal) || process.kill(process.pid, signal);
  process.on("message", raise);
  process.on("disconnect", () => raise("SIGTERM"));
  process.channel.unref();
}
