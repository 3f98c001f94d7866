import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

/** Runs a test file of these lines as `npm test` does, or without what it loads first. */
function run(lines: string, withoutHooks = true): { status: number | null; stdout: string } {
  const folder = mkdtempSync(join(tmpdir(), "keystead-hooks-"));
  const file = join(folder, "one.test.mjs");
  const imports = `
    import { executionAsyncId } from "node:async_hooks";
    import { after, before, describe, it } from "node:test";
    const turn = () => new Promise(setImmediate);`;
  writeFileSync(file, `${imports}\n${lines}`);
  const preload = new URL("../support/no-promise-hooks.js", import.meta.url).href;
  const options = withoutHooks ? [`--import=${preload}`] : [];
  try {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [...options, "--test-reporter=tap", file];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env });
    return { status, stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a test file whose promises nobody follows", () => {
  it("has promises without a number of their own", () => {
    const lines = "await Promise.resolve(); it('', () => {}); const told = Promise.resolve().then(executionAsyncId);";
    const program = `${lines} if ((await told) !== (await Promise.resolve().then(executionAsyncId))) process.exit(7);`;
    assert.equal(run(program).status, 0);
    assert.equal(run(program, false).status, 7, "the test runner follows them by itself");
  });

  const errors = {
    "a rejection that nobody handles": "void Promise.reject(new Error('lost'));",
    "one after other promises":
      "await turn(); void Promise.resolve().then(turn).then(() => { throw new Error('lost'); });",
    "an exception of a timer": "setTimeout(() => { throw new Error('lost'); }, 0);",
    "an exception of a microtask": "queueMicrotask(() => { throw new Error('lost'); });",
    "an exception of a timer that a promise began":
      "void turn().then(() => setTimeout(() => { throw new Error('lost'); }, 0));",
  };
  for (const [name, line] of Object.entries(errors)) {
    it(`fails by ${name}`, () => {
      const waiting =
        "for (let turns = 0; turns < 50; turns++) { await turn(); await new Promise((end) => setTimeout(end)); }";
      for (const test of [
        `it("one", async () => { ${line} ${waiting} });`,
        `describe("some", () => { before(async () => { ${line} }); it("one", async () => { ${waiting} }); });`,
        `describe("some", () => { it("one", async () => { ${line} }); it("two", async () => { ${waiting} }); });`,
      ]) {
        const { status, stdout } = run(test);
        assert.equal(status, 1, stdout);
        assert.match(stdout, /lost/);
      }
    });
  }

  it("has its tests in their suites, and what comes before and after each suite there", () => {
    const suite = (name: string) => `
      describe("${name}", () => {
        before(async () => { await turn(); said.push("before ${name}"); });
        after(async () => { await turn(); said.push("after ${name}"); });
        it("test", async (test) => {
          await turn();
          await test.test("inside", async () => { await turn(); said.push("inside ${name}"); });
          said.push("test ${name}");
        });
      });`;
    const said = ["one", "two"].flatMap((name) =>
      ["before", "inside", "test", "after"].map((word) => `${word} ${name}`),
    );
    const check = `after(() => { if (said.join() !== ${JSON.stringify(said.join())}) throw new Error(said.join()); });`;
    const { status, stdout } = run(`const said = []; ${check} ${suite("one")} ${suite("two")}`);
    assert.equal(status, 0, stdout);
  });
});

it("no suite waits before it declares its tests, which would belong to none and run or not", () => {
  const root = join(import.meta.dirname, "../..");
  const files = ["bench", "src", "test"].flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }));
  assert.ok(files.length > 300, `${files.length} files`);
  const waiting = files.filter((file) => WAITING_SUITE.test(readFileSync(join(root, file), "utf8")));
  assert.deepEqual(waiting, []);
});

const WAITING_SUITE = /\bdescribe\(\s*(?:"[^"]*"|`[^`]*`|[\w.]+)\s*,\s*async\b/;
