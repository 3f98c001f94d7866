import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

/** Test files with every kind of fault, run as `npm test` runs them: what each is told to be, and that the others are told too. */

const RUN_FILES = fileURLToPath(new URL("../run-files.ts", import.meta.url));
const IMPORTS = 'import assert from "node:assert/strict"; import { after, before, describe, it } from "node:test";';
/** Long for files that do nothing, however busy the machine is. */
const HANGS_AFTER_MS = 30_000;

const good = (name: string) => `describe("${name}", () => { it("is good", () => {}); });`;

/** By the name of a file: what is in it, and what is said of it. */
const faults: Record<string, { lines: string; says: RegExp }> = {
  "an-assertion": {
    lines: 'describe("suite", () => { it("is wrong", () => { assert.equal(1, 2); }); });',
    says: /✖ is wrong[^✖]*1 !== 2/,
  },
  "an-error-while-it-is-loaded": {
    lines: 'throw new Error("lost at load");',
    says: /✖ \S*an-error-while[^✖]*lost at load/,
  },
  "a-missing-module": { lines: 'import "./nowhere.ts";', says: /✖ \S*a-missing-module[^✖]*nowhere\.ts/ },
  "an-await-at-the-top": { lines: "await 1;", says: /✖ \S*an-await[^✖]*top-level await/ },
  "a-hook": {
    lines: 'describe("suite", () => { before(() => { throw new Error("no server"); }); it("is not run", () => {}); });',
    says: /✖ suite[^✖]*no server/,
  },
  "an-exit": {
    lines:
      'describe("suite", () => { it("is told", () => {}); it("exits", async () => { for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate); process.exit(0); }); });',
    says: /✖ \S*an-exit\.[^✖]*the process ended while this file ran/,
  },
  "an-exit-while-it-is-loaded": {
    lines: "process.exit(3);",
    says: /✖ \S*an-exit-while[^✖]*the process ended while this file ran: exit code 3/,
  },
  "a-signal": {
    lines: 'it("is killed", () => { process.kill(process.pid, "SIGKILL"); });',
    says: /✖ \S*a-signal[^✖]*the process ended while this file ran: ended by SIGKILL/,
  },
  "a-rejection": {
    lines: 'it("does not wait", () => { void Promise.reject(new Error("lost promise")); });',
    says: /✖ \S*a-rejection[^✖]*lost promise/,
  },
  "an-exception-after-the-test": {
    lines: 'it("is over", () => { setImmediate(() => { throw new Error("lost exception"); }); });',
    says: /✖ \S*an-exception[^✖]*lost exception/,
  },
};

interface Outcome {
  status: number | null;
  output: string;
  failed: string[] | undefined;
}

/** Runs files of a folder, in the order of their names. */
async function runFiles(
  folder: string,
  names: readonly string[],
  more: NodeJS.ProcessEnv = {},
  options: readonly string[] = [],
): Promise<Outcome> {
  const { NODE_TEST_CONTEXT: _, KEYSTEAD_TEST_PACKAGES: __, ...env } = process.env;
  const child = spawn(
    process.execPath,
    [RUN_FILES, ...options, ...names.map((name) => join(folder, `${name}.test.ts`))],
    {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // In one process, so that each comes after all others.
      env: { ...env, KEYSTEAD_TEST_AT_ONCE: "1", ...more },
    },
  );
  let failed: string[] | undefined;
  child.on("message", (message: { failed: string[] }) => {
    failed = message.failed;
  });
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [status, output] = await Promise.all([exit, text(child.stdout as Readable)]);
  return { status, output, failed: failed?.map((file) => nameIn(file)).sort() };
}

const nameIn = (file: string): string => /([^/]+)\.test\.ts$/.exec(file)?.[1] ?? file;

describe("test files that take turns in a process", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "keystead-faults-"));
  });
  after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, lines: string) =>
    writeFileSync(join(folder, `${name}.test.ts`), `${IMPORTS}\n${lines}\n`);

  it("are told one by one, with whatever is wrong with each, and none is lost with another", async () => {
    const names = Object.entries(faults).flatMap(([name, { lines }]) => {
      write(name, lines);
      write(`${name}-is-over`, good(`what follows ${name}`));
      return [name, `${name}-is-over`];
    });
    const { status, output, failed } = await runFiles(folder, names);
    assert.equal(status, 1);
    assert.deepEqual(failed, Object.keys(faults).sort(), output);
    for (const [name, { says }] of Object.entries(faults)) {
      assert.match(output, says, name);
      assert.match(output, new RegExp(`✔ what follows ${name} `), name);
    }
    assert.match(output, /✔ is told/);
  });

  it("are ended where one hangs, and the others are run", async () => {
    write("hangs", 'it("waits", () => new Promise(() => { setInterval(() => {}, 1000); }));');
    write("hangs-not", good("what follows"));
    const { status, output, failed } = await runFiles(folder, ["hangs", "hangs-not"], {
      KEYSTEAD_TEST_HANGS_AFTER_MS: String(HANGS_AFTER_MS),
    });
    assert.equal(status, 1);
    assert.deepEqual(failed, ["hangs"], output);
    assert.match(output, /✔ what follows/);
  });

  it("leave no server behind, where a test of theirs fails before it closes it", async () => {
    const support = (name: string) => JSON.stringify(new URL(`../support/${name}`, import.meta.url).href);
    const found = join(folder, "found");
    write(
      "leaves-a-server",
      `import { writeFileSync } from "node:fs";
      import { startTestServer } from ${support("server.ts")};
      import { atEndOfFile } from ${support("end-of-file.ts")};
      let url;
      it("fails", async () => {
        ({ baseUrl: url } = await startTestServer("sqlite"));
        assert.equal((await fetch(url + "/healthz")).status, 200);
        assert.fail("before it closes it");
      });
      // Done after what the support files have done.
      atEndOfFile(async () => {
        const answer = await fetch(url + "/healthz").catch(() => undefined);
        writeFileSync(${JSON.stringify(found)}, answer ? "open" : "closed");
      });`,
    );
    const { failed, output } = await runFiles(folder, ["leaves-a-server"], {
      KEYSTEAD_TEST_HANGS_AFTER_MS: String(HANGS_AFTER_MS),
    });
    assert.match(output, /before it closes it/);
    assert.deepEqual([failed, readFileSync(found, "utf8")], [["leaves-a-server"], "closed"], output);
  });

  it("end where a test of theirs fails before it closes what it listens with, and connections to it", async () => {
    const support = JSON.stringify(new URL("../support/end-of-file.ts", import.meta.url).href);
    write(
      "leaves-a-listener",
      `import ${support};
      import { connect, createServer } from "node:net";
      it("fails", async () => {
        const server = createServer();
        await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
        const accepted = new Promise((resolve) => server.once("connection", resolve));
        connect(server.address().port, "127.0.0.1");
        await accepted;
        assert.fail("before it closes it");
      });`,
    );
    const { failed, output } = await runFiles(folder, ["leaves-a-listener"], {
      KEYSTEAD_TEST_HANGS_AFTER_MS: String(HANGS_AFTER_MS),
    });
    assert.deepEqual(failed, ["leaves-a-listener"]);
    for (const line of ["tests 1", "fail 1", "cancelled 0"]) assert.match(output, new RegExp(`ℹ ${line}\n`));
  });

  it("pass where all are good, and counts are theirs alone", async () => {
    const names = ["one", "two", "three"];
    for (const name of names) write(name, `${good(name)} it("alone", () => {});`);
    const { status, output, failed } = await runFiles(folder, names);
    assert.deepEqual([status, failed], [0, []], output);
    for (const line of ["tests 6", "suites 3", "pass 6", "fail 0"]) assert.match(output, new RegExp(`ℹ ${line}\n`));
  });

  it("pass without a test of the name that is asked for, but not if they cannot be loaded", async () => {
    const options = ["--test-name-pattern=is asked for"];
    write("not-asked-for", good("something else"));
    write("asked-for", 'describe("suite", () => { it("is asked for", () => {}); });');
    const { status, output, failed } = await runFiles(folder, ["asked-for", "not-asked-for"], {}, options);
    assert.deepEqual([status, failed], [0, []], output);
    for (const line of ["tests 1", "pass 1", "fail 0"]) assert.match(output, new RegExp(`ℹ ${line}\n`));
    write("not-loaded", 'throw new Error("lost at load");');
    const { failed: lost } = await runFiles(folder, ["asked-for", "not-loaded"], {}, options);
    assert.deepEqual(lost, ["not-loaded"]);
  });

  it("have what comes before and after all tests of a file in that file, one file after the other", async () => {
    const before = `before(() => { globalThis.now = (globalThis.now ?? 0) + 1; });`;
    const after = "after(() => { globalThis.now -= 1; });";
    const alone = `it("is alone", async () => { await 1; assert.equal(globalThis.now, 1); });`;
    const names = ["one", "two", "three"];
    for (const name of names) write(name, `${before} ${after} ${alone} describe("suite", () => { ${alone} });`);
    const { status, output } = await runFiles(folder, names);
    assert.equal(status, 0, output);
  });
});
