import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { testPostgresUrl } from "../support/server.ts";

/** Follows docs/adding-an-operation.md to the letter, in a copy of the project. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/adding-an-operation.md"), "utf8");

interface Block {
  language: string;
  file: string;
  text: string;
}

const blocks: Block[] = [...page.matchAll(/```(\w+) file=(\S+)\n([\s\S]*?)```/g)].map(
  ([, language = "", file = "", text = ""]) => ({ language, file, text }),
);

/** Applies hunks without line numbers: what a hunk removes or keeps must stand there in one piece, once. */
function applyDiff(source: string, diff: string): string {
  let result = source;
  for (const hunk of diff.split(/^@@\n/m).filter((part) => part.trim() !== "")) {
    const lines = hunk.replace(/\n$/, "").split("\n");
    const without = (mark: string) => lines.filter((line) => !line.startsWith(mark)).map((line) => line.slice(1));
    const [old, now] = [without("+").join("\n"), without("-").join("\n")];
    assert.equal(result.split(old).length, 2, `this must stand in the file once:\n${old}`);
    result = result.replace(old, () => now);
  }
  return result;
}

describe("the page on adding an operation", () => {
  const copy = mkdtempSync(join(tmpdir(), "keystead-guide-"));
  before(() => {
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
    for (const file of files.trim().split("\n")) {
      if (!/^(src|test|bench|examples|scripts|console|handbook|docs\/examples)\/|^[^/]+\.json$/.test(file)) continue;
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(join(root, file), join(copy, file), { force: true });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    for (const { language, file, text } of blocks) {
      const path = join(copy, file);
      writeFileSync(path, language === "diff" ? applyDiff(readFileSync(path, "utf8"), text) : text);
    }
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  const run = (command: string, ...args: string[]) => {
    // What the page has written anew is written in the copy.
    const changes = { KEYSTEAD_UPDATE_SNAPSHOTS: "1", NODE_TEST_CONTEXT: undefined };
    const env = { ...process.env, KEYSTEAD_TEST_POSTGRES_URL: testPostgresUrl(), ...changes };
    return promisify(execFile)(command, args, { cwd: copy, env: env as never, maxBuffer: 16 * 1024 * 1024 });
  };

  it("adds an activity and a query that compile", async () => {
    assert.equal(blocks.length, 6);
    // What the page does not touch is compiled by every check.
    const include = ["src", "test/generated", "test/api/rename-user-tag.test.ts"];
    writeFileSync(join(copy, "tsconfig.page.json"), JSON.stringify({ extends: "./tsconfig.json", include }));
    const compiler = join(root, "node_modules/typescript-7/bin/tsc");
    await run(process.execPath, compiler, "--checkers", "1", "-p", "tsconfig.page.json");
  });

  it("and that do what their test says on both databases, and say what they change of authority", async () => {
    const ofAuthority = ["is read of every operation"];
    const ofOperation = ["changes its name and nothing else", "refuses a tag", "operations tell policies the resource"];
    const files = [
      "test/api/rename-user-tag.test.ts",
      "src/capabilities/policies/activity-classes.test.ts",
      "test/authority/provenance.test.ts",
    ];
    // In one process, which reads the sources once.
    const options = ["--test", "--test-isolation=none", "--test-reporter=tap"];
    const pattern = `--test-name-pattern=${[...ofAuthority, ...ofOperation].join("|")}`;
    const { stdout } = await run(process.execPath, ...options, pattern, ...files);
    assert.match(stdout, /# fail 0/);
    assert.match(stdout, /# pass 6\n/);
  });

  it("and that the generated tests cover", async () => {
    const pattern = "--test-name-pattern=rename_user_tag|count_user_tags|every operation and every older version";
    const { stdout } = await run(
      process.execPath,
      "--test",
      "--test-reporter=tap",
      pattern,
      "test/generated/examples.test.ts",
    );
    assert.match(stdout, /# fail 0/);
    assert.match(stdout, /# pass [5-9]/);
    assert.ok(existsSync(join(copy, "docs/examples/rename_user_tag.json")));
  });
});
