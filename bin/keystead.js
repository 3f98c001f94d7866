#!/usr/bin/env node
// Plain JavaScript that every version of Node since 20 can run. It finds a Node that can run the rest.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const MIN_MAJOR = 24;
const PARENT_CHECK_MS = 500;
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
  let isTold = false;
  // Signals are forwarded as messages, so that the child can tell them from those that a terminal or a supervisor sent it directly.
  const pass = (signal) => {
    isTold = true;
    if (child.connected) child.send(signal);
  };
  onEndOfNpx(() => isTold || pass("SIGTERM"));
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"];
  for (const signal of signals) process.on(signal, pass);
  const [code, endedBy] = await new Promise((resolve) => child.once("exit", (...how) => resolve(how)));
  for (const signal of signals) process.removeListener(signal, pass);
  if (endedBy) process.kill(process.pid, endedBy);
  else process.exit(code);
}

async function run() {
  if (process.send) hearPassedSignals();
  else onEndOfNpx(() => raise("SIGTERM"));
  // The cache contains code, so it must not be in the shared folder for temporary files.
  module.enableCompileCache(fileURLToPath(inPackage("node_modules/.cache/keystead")));
  const source = inPackage("src/main/cli.ts");
  await import(existsSync(source) ? source.href : inPackage("dist/main/cli.js").href);
}

/** Under an older Node, the parent forwards signals as messages. When the parent ends, the channel closes. */
function hearPassedSignals() {
  process.on("message", raise);
  process.on("disconnect", () => raise("SIGTERM"));
  process.channel.unref();
}

/** As if the signal had been passed on, which counts as one with a signal that this process received itself. */
function raise(signal) {
  if (!process.emit(signal, signal)) process.kill(process.pid, signal);
}

/**
 * npx runs a command in a shell and passes signals to that shell only, which ends and leaves the command running. So the end of the shell
 * counts as SIGTERM.
 */
function onEndOfNpx(stop) {
  if (process.env.npm_command !== "exec") return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    stop();
  }, PARENT_CHECK_MS);
  timer.unref();
}
