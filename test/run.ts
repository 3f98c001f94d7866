import { spawn } from "node:child_process";
import { startAnvil, TEST_CHAIN_ID } from "./support/anvil.ts";
import { startPostgres } from "./support/postgres.ts";

/**
 * `npm test`: brings a PostgreSQL server and an Ethereum node, and runs the tests on the one and on SQLite. `npm test -- <files>` runs those alone.
 * `KEYSTEAD_LONG_TESTS=1` makes some of them longer, as their own texts say.
 */
const allTests = ["src/**/*.test.ts", "test/**/*.test.ts", "bench/*.test.ts"];
const files = process.argv.slice(2);
const timeoutMs = process.env.KEYSTEAD_LONG_TESTS === "1" ? 3_600_000 : 240_000;
const [postgres, node] = await Promise.all([startPostgres(), startAnvil({ chainId: TEST_CHAIN_ID })]);
const runner = spawn(
  process.execPath,
  ["--test", "--test-concurrency=2", `--test-timeout=${timeoutMs}`, ...(files.length > 0 ? files : allTests)],
  {
    stdio: "inherit",
    env: { ...process.env, KEYSTEAD_TEST_POSTGRES_URL: postgres.url, KEYSTEAD_TEST_NODE_URL: node.url },
  },
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => runner.kill(signal));
const status = await new Promise<number>((resolve) => runner.once("exit", (code) => resolve(code ?? 1)));
await Promise.all([postgres.stop(), node.stop()]);
process.exit(status);
