import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Credentials } from "../../src/main/credentials-file.ts";
import { Client } from "./client.ts";
import { atEndOfFile } from "./end-of-file.ts";
import { until } from "./until.ts";

/** The service as an operator runs it: `keystead` as a process of its own, to be signalled, killed and read. */

const SOURCES = fileURLToPath(new URL("../../bin/keystead.js", import.meta.url));
/** As it is shipped, which `npm test` builds, or from its sources. */
export const KEYSTEAD = process.env.KEYSTEAD_TEST_PROGRAM ?? SOURCES;

/** Whatever is loaded beforehand and changes a package finds it beside the sources alone. */
const FROM_SOURCES = [process.env.KEYSTEAD_TEST_PACKAGES ?? [], SOURCES].flat();

const OLDER_NODE =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})';

const TERMINAL = "data:text/javascript,process.stdout.isTTY=true";

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface KeysteadProcess {
  pid: number;
  stdout: () => string;
  stderr: () => string;
  exited: Promise<Exit>;
  /** Sends the signal and resolves once the process has ended. */
  end(signal: NodeJS.Signals): Promise<Exit>;
}

export interface ProcessOptions {
  settings?: Record<string, string>;
  /** Runs in the shell before the command, such as `ulimit -f 100`. */
  shellPrefix?: string;
  /** Another Node than that of the tests. */
  node?: string | undefined;
  /** Another installation's `bin/keystead.js`. */
  program?: string;
  /** Lets the command believe that what it prints is seen on a terminal. */
  onTerminal?: boolean;
  /** Runs `npx keystead` in a folder where it is installed; signals go to npx. */
  byNpx?: boolean;
  /** Lets the command believe that it runs on Node 20; it hands over to the installed Node 24. */
  onOlderNode?: boolean;
}

// A test that fails may leave servers behind, and they would keep the process of the tests from ending.
const running = new Set<ChildProcess>();
const folders = new Set<string>();
const endAll = () => {
  for (const child of running) child.kill("SIGKILL");
};
atEndOfFile(endAll);
process.once("exit", () => {
  endAll();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Starts `keystead <args>`; it sees these settings and nothing else that could be one. */
export function spawnKeystead(args: readonly string[], options: ProcessOptions = {}): KeysteadProcess {
  const { PATH, HOME } = process.env;
  const command = [
    options.node ?? process.execPath,
    ...(options.onOlderNode ? ["--import", OLDER_NODE] : []),
    ...(options.onTerminal ? ["--import", TERMINAL] : []),
    ...(options.program
      ? [options.program]
      : /--import/.test(options.settings?.NODE_OPTIONS ?? "")
        ? FROM_SOURCES
        : [KEYSTEAD]),
    ...args,
  ];
  const [file, ...rest] = options.byNpx
    ? ["npx", "keystead", ...args]
    : options.shellPrefix
      ? ["/bin/sh", "-c", `${options.shellPrefix}; exec "$0" "$@"`, ...command]
      : command;
  const child = spawn(file as string, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: options.byNpx ? installedFolder() : tmpdir(),
    env: { PATH, HOME, ...options.settings },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exited = exitOf(child);
  running.add(child);
  void exited.then(() => running.delete(child));
  return {
    pid: child.pid as number,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    exited,
    end: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
}

/** A folder in which npx finds the command. */
function installedFolder(): string {
  const folder = temporaryFolder();
  const commands = join(folder, "node_modules", ".bin");
  mkdirSync(commands, { recursive: true });
  symlinkSync(KEYSTEAD, join(commands, "keystead"));
  return folder;
}

/** When the process is gone and everything it wrote was read. */
function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
}

export interface ServerProcess extends KeysteadProcess {
  baseUrl: string;
  dataDir: string;
  /** Stamps with the root user's key. */
  root: Client;
  credentials: Credentials;
}

export interface ServerProcessOptions extends ProcessOptions {
  dataDir: string;
  /** After `serve`. */
  args?: readonly string[];
  databaseUrl?: string;
  /** Where the credentials are, if another server made them. */
  credentialsFrom?: string;
}

export const settingsOf = ({ dataDir, databaseUrl, settings }: ServerProcessOptions): Record<string, string> => ({
  KEYSTEAD_DATA_DIR: dataDir,
  KEYSTEAD_PORT: "0",
  KEYSTEAD_ADMIN_PORT: "0",
  ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  ...settings,
});

/** `keystead serve` that has not said yet whether it will serve. */
export const spawnServer = (options: ServerProcessOptions): KeysteadProcess =>
  spawnKeystead(["serve", ...(options.args ?? [])], { ...options, settings: settingsOf(options) });

/** Starts a server and waits until it serves. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const started = spawnServer(options);
  const { dataDir } = options;
  const baseUrl = await serving(started, dataDir);
  const credentials = readJson(join(options.credentialsFrom ?? dataDir, "credentials.json")) as Credentials;
  const { publicKey, privateKey } = credentials.apiKey;
  const root = new Client(baseUrl, credentials.organizationId, { publicKey, privateKey: privateKey as string });
  return { ...started, baseUrl, dataDir, root, credentials };
}

/** Starts a server that is expected to give up with one plain line on stderr and no other word; resolves to that line. */
export async function refusalOf(options: ServerProcessOptions): Promise<string> {
  const started = spawnServer({ ...options, settings: { KEYSTEAD_LOG_LEVEL: "warn", ...options.settings } });
  const served = serving(started, options.dataDir).then(
    (baseUrl) => assert.fail(`it serves ${baseUrl}`),
    () => started.exited,
  );
  assert.deepEqual(await served, { code: 1, signal: null });
  assert.match(started.stderr(), /^keystead: [^\n]+\n$/, "one plain line");
  assert.equal(started.stdout(), "");
  return started.stderr();
}

/** Resolves to the server's address once it serves: as its log says, or its file where the log is to be quiet. */
export async function serving({ pid, exited, stdout, stderr }: KeysteadProcess, dataDir: string): Promise<string> {
  let ended: Exit | undefined;
  void exited.then((exit) => {
    ended = exit;
  });
  const file = join(dataDir, "address.json");
  const inFile = () => {
    if (!existsSync(file)) return undefined;
    const address = readJson(file) as { baseUrl: string; pid: number };
    return address.pid === pid ? address.baseUrl : undefined;
  };
  const told = () => /"baseUrl":"([^"]+)".*"msg":"serving"/.exec(stdout())?.[1] ?? inFile();
  await until(() => told() !== undefined || ended !== undefined, "the server to serve");
  const baseUrl = told();
  if (baseUrl === undefined) {
    throw new Error(`the server ended with ${JSON.stringify(ended)}: ${stderr()}${stdout()}`);
  }
  return baseUrl;
}

/** Runs a command to its end. */
export async function runKeystead(
  args: readonly string[],
  settings: Record<string, string>,
): Promise<Exit & { stdout: string; stderr: string }> {
  const { exited, stdout, stderr } = spawnKeystead(args, { settings });
  const exit = await exited;
  return { ...exit, stdout: stdout(), stderr: stderr() };
}

/** Whether there is such a process; one that ended and was not yet collected by its parent does not count. */
export const isRunning = (pid: number): boolean =>
  (HAS_PROC ? processInProc(String(pid)) : processes()).some((one) => one.pid === pid && !one.isZombie);

/** The running children of a process: those of a server are its signers. */
export const childrenOf = (pid: number): number[] =>
  processes()
    .filter((one) => one.parent === pid && !one.isZombie)
    .map((one) => one.pid);

/** The one signer process of a server. */
export async function signerOf(server: KeysteadProcess): Promise<number> {
  await until(() => childrenOf(server.pid).length === 1, "one signer");
  return childrenOf(server.pid)[0] as number;
}

// Small Linux images have no `ps`, other systems no /proc.
const HAS_PROC = existsSync("/proc/self/stat");

interface ProcessEntry {
  pid: number;
  parent: number;
  isZombie: boolean;
}

function processes(): ProcessEntry[] {
  if (HAS_PROC) return readdirSync("/proc").flatMap(processInProc);
  return execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, state]) => ({ pid: Number(pid), parent: Number(parent), isZombie: state?.[0] === "Z" }));
}

function processInProc(name: string): ProcessEntry[] {
  if (!/^[0-9]+$/.test(name)) return [];
  try {
    const stat = readFileSync(`/proc/${name}/stat`, "utf8");
    // The command stands in parentheses and may hold anything.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [{ pid: Number(name), parent: Number(parent), isZombie: state === "Z" }];
  } catch {
    return [];
  }
}

export const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));

/** A folder that is removed when the test process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "keystead-process-"));
  folders.add(folder);
  return folder;
}
