import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { earlierVersions } from "../support/earlier-version.ts";

describe("the versions before the newest migration", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "keystead-earlier-"));
    mkdirSync(join(root, "src/storage/migrations"), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "pipe" })
      .toString()
      .trim();
  const migrate = (name: string) => writeFileSync(join(root, "src/storage/migrations", `${name}.ts`), "");
  /** Its id. */
  const commit = (): string => {
    git("add", ".");
    git("commit", "-qm", "one more");
    return git("rev-parse", "HEAD");
  };
  /** Of a project with two migrations and something after them: the commit before the second. */
  const history = (): string => {
    git("init", "-q");
    migrate("0001-first");
    const before = commit();
    migrate("0002-second");
    commit();
    writeFileSync(join(root, "more"), "");
    commit();
    return before;
  };

  it("are those before it was added, or all where it is not committed", () => {
    const before = history();
    assert.deepEqual(earlierVersions(root), [before]);
    migrate("0003-third");
    assert.equal(earlierVersions(root).length, 3);
    assert.equal(earlierVersions(root)[0], git("rev-parse", "HEAD"));
  });

  it("are found in a clone that belongs to somebody else", (test) => {
    const before = history();
    // By which git's own tests have it so.
    process.env.GIT_TEST_ASSUME_DIFFERENT_OWNER = "1";
    test.after(() => delete process.env.GIT_TEST_ASSUME_DIFFERENT_OWNER);
    assert.throws(() => git("log"), /dubious ownership/);
    assert.deepEqual(earlierVersions(root), [before]);
  });

  it("are none where the history begins with it, there is no history, or no git", (test) => {
    migrate("0001-first");
    assert.deepEqual(earlierVersions(root), []);
    git("init", "-q");
    commit();
    assert.deepEqual(earlierVersions(root), []);
    const path = process.env.PATH;
    test.after(() => {
      process.env.PATH = path;
    });
    process.env.PATH = root;
    assert.deepEqual(earlierVersions(root), []);
  });

  it("are none in a clone without the history", () => {
    history();
    const shallow = join(root, "shallow");
    git("clone", "-q", "--depth", "1", `file://${root}`, shallow);
    assert.deepEqual(earlierVersions(shallow), []);
  });

  it("are no guess where git fails", () => {
    history();
    rmSync(join(root, ".git/objects"), { recursive: true });
    assert.throws(() => earlierVersions(root), /not a git repository|bad object/);
  });
});
