import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
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
    "deploy/helm/keystead/templates/deployment.yaml",
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

  const chart = pathOf("deploy/helm/keystead");
  it("is a chart of this version", () => {
    const { version } = JSON.parse(textOf("package.json")) as { version: string };
    assert.match(
      textOf("deploy/helm/keystead/Chart.yaml"),
      new RegExp(`^version: ${version}\nappVersion: "${version}"$`, "m"),
    );
    assert.match(textOf("deploy/helm/keystead/values.yaml"), new RegExp(`^ {2}tag: "${version}"$`, "m"));
  });

  const helm = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "helm"))
    .find((path) => existsSync(path));
  it("is a chart that Helm renders, and whose schema refuses what cannot work", {
    skip: helm === undefined && "helm is not installed",
  }, () => {
    const home = temporaryFolder();
    const run = (...args: string[]) =>
      execFileSync(helm as string, args, { encoding: "utf8", stdio: "pipe", env: { HOME: home } });
    const render = (...settings: string[]) =>
      run("template", "keys", chart, ...settings.flatMap((setting) => ["--set", setting]));
    assert.match(run("lint", "--strict", chart), /1 chart\(s\) linted, 0 chart\(s\) failed/);
    const kindsIn = (text: string) => [...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind).sort();
    const one = render();
    assert.deepEqual(kindsIn(one), ["ConfigMap", "Deployment", "PersistentVolumeClaim", "Service", "Service"]);
    assert.doesNotMatch(one, /_FILE|secretName|initContainers/);
    assert.match(one, /type: Recreate/);
    const secrets = ["database", "rootKey", "passphrase"].map((name) => `secrets.${name}Secret=the-${name}`);
    const several = render("replicas=3", ...secrets, "settings.KEYSTEAD_PUBLIC_URL=https://keys.example.com");
    assert.deepEqual(kindsIn(several), ["ConfigMap", "Deployment", "Service", "Service"]);
    for (const name of ["the-database", "the-rootKey", "the-passphrase"]) {
      assert.ok(several.includes(`secretName: "${name}"`), name);
    }
    assert.match(several, /name: KEYSTEAD_PUBLIC_URL, value: "https:\/\/keys\.example\.com"/);
    assert.match(several, /type: RollingUpdate/);
    for (const [refused, setting] of [
      [/secrets\.databaseSecret/, "replicas=2"],
      [/settings/, "settings.KEYSTEAD_ROOT_KEY_PASSPHRASE=x"],
      [/settings/, "settings.PATH=x"],
      [/service\.type/, "service.type=Open"],
      [/Additional property replica /, "replica=2"],
    ] as const) {
      assert.throws(
        () => render(setting),
        ({ stderr }: { stderr: string }) => refused.test(stderr),
        setting,
      );
    }
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
