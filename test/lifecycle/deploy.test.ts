import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { loadConfig, StartProblem } from "../../src/main/config.ts";
import { KEYSTEAD, temporaryFolder } from "../support/server-process.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const textOf = (path: string) => readFileSync(pathOf(path), "utf8");
const UNIT = "deploy/systemd/keystead.service";

describe("what is there to deploy with", () => {
  for (const path of [
    UNIT,
    "deploy/container/Containerfile",
    "deploy/container/compose.yaml",
    "docs/guide/deploying.md",
  ]) {
    it(`names settings that there are: ${path}`, () => {
      const names = textOf(path).match(/\b(KEYSTEAD_[A-Z_]*[A-Z]|DATABASE_URL(_FILE)?)\b/g) ?? [];
      assert.ok(names.length > 0);
      for (const name of names) {
        try {
          loadConfig({ [name]: "" });
        } catch (error) {
          assert.ok(!(error instanceof StartProblem), `${path}: ${(error as Error).message}`);
          throw error;
        }
      }
    });
  }

  it("runs the command that there is", () => {
    const [, bin] =
      /node_modules\/keystead\/(bin\/keystead\.js)"\]\nCMD/.exec(textOf("deploy/container/Containerfile")) ?? [];
    assert.equal(pathOf(bin as string), KEYSTEAD);
    const [, major] = /^FROM node:(\d+)-/m.exec(textOf("deploy/container/Containerfile")) ?? [];
    assert.equal(major, process.versions.node.split(".")[0]);
  });

  const analyze = "/usr/bin/systemd-analyze";
  it("is a unit that systemd takes, and that leaves little open", {
    skip: !existsSync(analyze) && "systemd-analyze is not installed",
  }, () => {
    // What it runs is not installed here.
    const unit = textOf(UNIT).replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`);
    const file = join(temporaryFolder(), "keystead.service");
    writeFileSync(file, unit);
    execFileSync(analyze, ["verify", "--man=no", file], { stdio: "pipe" });
    // In tenths: above this it exits with a failure.
    execFileSync(analyze, ["security", "--offline=true", "--threshold=20", file], { stdio: "pipe" });
  });
});
