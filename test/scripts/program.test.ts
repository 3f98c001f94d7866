import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { licensesOf } from "../../scripts/licenses.ts";
import { buildProgram } from "../../scripts/program.ts";
import { builtInto, sbomOfCheckout } from "../../scripts/sbom.ts";
import { describeCode } from "../../src/signer/process/code.ts";
import { temporaryFolder } from "../support/server-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const source = join(root, "src/");

describe("the program as it is shipped", () => {
  const dist = temporaryFolder();
  let parts: Map<string, string[]>;
  before(async () => {
    parts = await buildProgram(dist);
  });

  const textOf = (path: string): string => readFileSync(join(dist, path), "utf8");
  const allFiles = () =>
    readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".js"));

  it("has the command, the signer, the runner and the outbound thread, where each is begun; all but the first are one file", () => {
    assert.deepEqual(
      [...parts.keys()],
      ["main/cli", "signer/process/main", "runner/process/main", "delivery/thread/main"],
    );
    const files = allFiles();
    for (const main of ["signer/process/main.js", "runner/process/main.js", "delivery/thread/main.js"]) {
      const [folder = ""] = main.split("/");
      assert.deepEqual(
        files.filter((path) => path.startsWith(`${folder}/`)),
        [main],
      );
    }
    assert.ok(files.includes("main/cli.js"));
    assert.ok(files.length < 300, `${files.length} files`);
  });

  it("asks for no package but what is installed with it", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    // Looked for by `pg` where somebody has it, and by the docs page where it was not built.
    const allowed = new Set([...Object.keys(dependencies), "pg-native", "@scalar/fastify-api-reference"]);
    let found = 0;
    for (const path of allFiles()) {
      const imported = textOf(path).matchAll(/(?:^import .*?from |^import |\bimport\(|__require\()"([^"]+)"/gm);
      for (const [, name = ""] of imported) {
        if (name.startsWith(".") || name.startsWith("node:")) continue;
        const [, packageName = name] = /^((?:@[^/]+\/)?[^/]+)/.exec(name) ?? [];
        if (process.getBuiltinModule(name) !== undefined) continue;
        assert.ok(allowed.has(packageName), `${path} asks for ${name}`);
        found++;
      }
    }
    assert.ok(found > 0);
  });

  it("has Node load no client that it does not use, as whoever imports all of node:http does", () => {
    for (const path of allFiles()) assert.doesNotMatch(textOf(path), /\bfrom ?"(node:)?http"/, path);
    assert.ok(allFiles().some((path) => textOf(path).includes('getBuiltinModule("node:http")')));
  });

  it("has nothing in it that the bill of materials leaves out, and the license of all that it has", () => {
    const sbom = sbomOfCheckout();
    const named = new Set(builtInto(sbom));
    const licenses = licensesOf(sbom);
    const packages = new Set<string>();
    for (const file of [...parts.values()].flat()) {
      const [, path] = /^(node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)/.exec(file.slice(root.length)) ?? [];
      if (path !== undefined) packages.add(path);
    }
    assert.ok(packages.size > 60, `${packages.size} packages`);
    for (const path of packages) {
      assert.ok(named.has(path), path);
      const { name, version } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      assert.ok(licenses.includes(`${name} ${version}\n`), `${name} ${version}`);
    }
    assert.match(licenses, /Paul Miller[\s\S]*Permission is hereby granted/);
  });

  it("has a signer of the layers alone that its sources are named by", () => {
    const own = (parts.get("signer/process/main") as string[])
      .filter((file) => file.startsWith(source))
      .map((file) => file.slice(source.length));
    assert.ok(own.length > 30, `${own.length} files`);
    const named = new Set(describeCode().files.map(({ path }) => path));
    assert.deepEqual(
      own.filter((file) => !named.has(file)),
      [],
    );
  });
});
