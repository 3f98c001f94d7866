import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { moveInto } from "../../scripts/move-into.ts";

describe("putting a build in its place", () => {
  let folder: string;
  let target: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "keystead-build-"));
    target = join(folder, "dist");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const build = (name: string, text: string): string => {
    const made = join(folder, name);
    mkdirSync(made);
    writeFileSync(join(made, "index.html"), text);
    return made;
  };
  const placed = () => readFileSync(join(target, "index.html"), "utf8");

  it("takes the place of nothing, and of what is there", () => {
    for (const text of ["first", "second"]) {
      moveInto(target, build("mine", text), () => false);
      assert.equal(placed(), text);
    }
    assert.deepEqual(readdirSync(folder), ["dist"]);
  });

  it("leaves the same where somebody else was first", () => {
    const mine = build("mine", "the same");
    build("dist", "the same, of somebody else");
    moveInto(target, mine, () => true);
    assert.equal(placed(), "the same, of somebody else");
  });

  it("is not overtaken by who builds at the same time", () => {
    build("dist", "old");
    const mine = build("mine", "new");
    let looks = 0;
    // Between two looks another one takes the old away, and another one yet puts it back.
    moveInto(target, mine, () => {
      looks++;
      if (looks === 1) rmSync(target, { recursive: true });
      if (looks === 1) build("dist", "meanwhile");
      return false;
    });
    assert.equal(placed(), "new");
    assert.ok(!existsSync(mine));
  });

  it("leaves what is there where there is nothing to put", () => {
    build("dist", "old");
    assert.throws(() => moveInto(target, join(folder, "never made"), () => false), { code: "ENOENT" });
    assert.equal(placed(), "old");
  });
});
