import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Component, sbomOf, sbomOfCheckout } from "../../scripts/sbom.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Installed {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const packageIn = (folder: string): Installed => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** What is in the folders of packages, found as Node finds it and without the lock file. */
function installedFrom(folder: string, found = new Set<string>()): Set<string> {
  const { dependencies = {}, optionalDependencies = {} } = packageIn(folder);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    let at = folder;
    while (!existsSync(join(at, "node_modules", name)) && at !== dirname(at)) at = dirname(at);
    const next = join(at, "node_modules", name);
    // Of another platform.
    if (!existsSync(next)) continue;
    const { version } = packageIn(next);
    const key = `${next.slice(root.length)} ${name}@${version}`;
    if (found.has(key)) continue;
    installedFrom(next, found.add(key));
  }
  return found;
}

const partOf = ({ properties }: Component): string | undefined => properties?.[0]?.value;

describe("the bill of materials", () => {
  const sbom = sbomOfCheckout();
  const { components, dependencies, metadata } = sbom;

  it("names every package that is installed with ours, and no other as installed", () => {
    const listed = components
      .filter((each) => partOf(each) === "installed")
      .map((each) => `${each["bom-ref"].slice(0, each["bom-ref"].lastIndexOf("@"))} ${each.name}@${each.version}`);
    const there = installedFrom(root);
    assert.ok(there.size > 3, `${there.size} packages`);
    for (const each of there) assert.ok(listed.includes(each), `${each} is missing`);
    const optional = components
      .filter(({ scope }) => scope === "optional")
      .map(({ name, version }) => `${name}@${version}`);
    for (const each of listed) {
      assert.ok(there.has(each) || optional.includes(each.split(" ")[1] as string), `${each} is not installed`);
    }
  });

  it("names what is built into the program and the pages", () => {
    const built = components.filter((each) => partOf(each) === "built in").map(({ name }) => name);
    for (const name of [
      "fastify",
      "@noble/curves",
      "age-encryption",
      "pg",
      "react",
      "react-dom",
      "@mantine/core",
      "@codemirror/view",
      "@scalar/fastify-api-reference",
    ]) {
      assert.ok(built.includes(name), name);
    }
    for (const tool of ["vite", "typescript", "@biomejs/biome"]) assert.ok(!built.includes(tool), tool);
  });

  it("has the form of CycloneDX 1.6: references that exist once, URLs of packages, whole digests", () => {
    assert.deepEqual([sbom.bomFormat, sbom.specVersion, sbom.version], ["CycloneDX", "1.6", 1]);
    assert.match(sbom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const all = [metadata.component, ...components];
    const refs = new Set(all.map((each) => each["bom-ref"]));
    assert.equal(refs.size, all.length);
    assert.deepEqual(new Set(dependencies.map(({ ref }) => ref)), refs);
    assert.equal(dependencies.length, refs.size);
    for (const { ref, dependsOn } of dependencies) {
      assert.equal(new Set(dependsOn).size, dependsOn.length, ref);
      for (const each of dependsOn) assert.ok(refs.has(each), `${ref} depends on ${each}`);
    }
    for (const { purl, name, version, hashes, licenses } of components) {
      assert.equal(purl, `pkg:npm/${name.replace("@", "%40")}@${version}`);
      assert.equal(hashes?.[0]?.alg, "SHA-512", name);
      assert.match(hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/);
      assert.ok(licenses?.[0]?.expression, `${name} has a licence`);
    }
  });

  it("is the same each time, and has no place of a registry in it", () => {
    const text = JSON.stringify(sbom);
    assert.equal(JSON.stringify(sbomOfCheckout()), text);
    assert.doesNotMatch(text, /https?:/);
  });

  it("finds what a package has below itself first, and says what the lock file lacks", () => {
    const package1 = { version: "1.0.0", dependencies: { two: "*" } };
    const packages = {
      "": { name: "ours", version: "0.1.0", dependencies: { one: "*", two: "*" } },
      "node_modules/one": package1,
      "node_modules/one/node_modules/two": { version: "2.0.0" },
      "node_modules/two": { version: "3.0.0" },
      "node_modules/unused": { version: "4.0.0" },
    };
    const { components: found, dependencies: graph } = sbomOf({ packages }, []);
    assert.deepEqual(
      found.map(({ name, version }) => `${name}@${version}`),
      ["one@1.0.0", "two@2.0.0", "two@3.0.0"],
    );
    assert.deepEqual(graph[1], {
      ref: "node_modules/one@1.0.0",
      dependsOn: ["node_modules/one/node_modules/two@2.0.0"],
    });
    const { "node_modules/two": _, ...lacking } = packages;
    assert.throws(() => sbomOf({ packages: lacking }, []), /the lock file has no two for the package/);
  });
});
