import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../src/storage/database.ts";
import { EARN_CHAIN_ID, startAnvil, TEST_CHAIN_ID } from "./support/anvil.ts";
import { builtProgram } from "./support/built-program.ts";
import { deployEarnVault } from "./support/earn.ts";
import { makeMigratedFile } from "./support/migrated-sqlite.ts";
import { loadedBy, packagesTogether } from "./support/packages.ts";
import { createTestDatabase, MIGRATED_DATABASE, startPostgres } from "./support/postgres.ts";
import { startSolanaNode } from "./support/solana-node.ts";
import { deploySwapWorld } from "./support/swap-world.ts";
import { joinedArguments } from "./support/test-arguments.ts";

/**
 * `npm test`: brings a PostgreSQL server and nodes of Ethereum and Solana, and runs the tests on the one and on SQLite. `npm test -- <files>`
 * runs those alone; what begins with a dash goes to Node's test runner. `KEYSTEAD_LONG_TESTS=1` makes some of them longer, as
 * their own texts say. With `KEYSTEAD_TEST_ATTEMPTS=2` a few files that failed are run once more, in a world of their own
 * (docs/adr/0123-a-second-attempt.md).
 */
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 4 * 1024 ** 3;

/** In memory where there is plenty: a commit on SQLite waits for the disk. What a test asks of a kill holds there too. */
function temporaryParent(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ENOUGH_BYTES && runsPrograms(MEMORY) ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** PostgreSQL's programs are copied to where its data are; containers often mount that without the right to run any. */
function runsPrograms(folder: string): boolean {
  const own = mkdtempSync(join(folder, "keystead-tests-"));
  try {
    const program = join(own, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
    return spawnSync(program).status === 0;
  } finally {
    rmSync(own, { recursive: true });
  }
}

/** More that fail are no chance. */
const MOST_RUN_AGAIN = 8;

interface Outcome {
  status: number;
  /** Names of the files with a test that failed; undefined where the run was stopped or said nothing. */
  failed: string[] | undefined;
}

const parent = temporaryParent();

/** Brings what tests need, runs them and takes it away. */
async function attempt(fileArguments: readonly string[]): Promise<Outcome> {
  const temporary = mkdtempSync(join(parent, "keystead-tests-"));
  // Of PostgreSQL and the nodes as well.
  process.env.TMPDIR = temporary;
  // PostgreSQL runs under another name where this runs as root.
  chmodSync(temporary, 0o755);
  const [postgres, node, earnNode, solana, packages, program] = await Promise.all([
    startPostgres(),
    startAnvil({ chainId: TEST_CHAIN_ID }),
    startAnvil({ chainId: EARN_CHAIN_ID }),
    startSolanaNode(),
    packagesTogether(),
    builtProgram(),
  ]);
  const migrated = openDatabase({ url: await createTestDatabase(postgres.url, MIGRATED_DATABASE) });
  await migrated.migrate();
  await migrated.close();

  await deployEarnVault(earnNode);
  await deploySwapWorld(earnNode);

  const modules = join(temporary, "modules.json");
  writeFileSync(modules, JSON.stringify({ ...packages, ...program.spawned }));
  const runner = spawn(process.execPath, [pathOf("run-files.ts"), ...fileArguments], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: {
      ...process.env,
      KEYSTEAD_TEST_PACKAGES: loadedBy(modules),
      KEYSTEAD_TEST_PROGRAM: program.keystead,
      KEYSTEAD_TEST_POSTGRES_URL: postgres.url,
      KEYSTEAD_TEST_SQLITE_FILE: await makeMigratedFile(temporary),
      KEYSTEAD_TEST_NODE_URL: node.url,
      KEYSTEAD_TEST_EARN_NODE_URL: earnNode.url,
      KEYSTEAD_TEST_SOLANA_URL: solana.url,
      NODE_COMPILE_CACHE: pathOf("../node_modules/.cache/keystead"),
    },
  });
  let stopped = false;
  const stop = (signal: NodeJS.Signals) => {
    stopped = true;
    runner.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  let failed: string[] | undefined;
  runner.on("message", (message: { failed: string[] }) => {
    failed = message.failed;
  });
  const status = await new Promise<number>((resolve) => runner.once("exit", (code) => resolve(code ?? 1)));
  for (const signal of SIGNALS) process.removeListener(signal, stop);
  await Promise.all([postgres.stop(), node.stop(), earnNode.stop(), solana.close()]);
  rmSync(temporary, { recursive: true, force: true });
  return { status, failed: stopped ? undefined : failed };
}

const fileArguments = joinedArguments(process.argv.slice(2));
const options = fileArguments.filter((argument) => argument.startsWith("-"));
const first = await attempt(fileArguments);
let { status } = first;
const again = first.failed ?? [];
if (process.env.KEYSTEAD_TEST_ATTEMPTS === "2" && again.length > 0 && again.length <= MOST_RUN_AGAIN) {
  const names = again.map((file) => `  ${file}`).join("\n");
  process.stdout.write(`\nA second attempt, as each of these has a test that failed:\n${names}\n\n`);
  ({ status } = await attempt([...options, ...again]));
  const outcome = status === 0 ? "PASSED ONLY AT THE SECOND ATTEMPT" : "FAILED TWICE, or one of them";
  process.stdout.write(`\n${outcome}; the first failures are above:\n${names}\n`);
}
process.exit(status);
