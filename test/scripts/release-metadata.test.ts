import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { differences, filesIn, unpack } from "../../scripts/packed-files.ts";
import { type Manifest, metadataProblems, openPoints, type Packed } from "../../scripts/release-metadata.ts";
import { sbomOfCheckout } from "../../scripts/sbom.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SBOM = "dist/sbom.cdx.json";

interface Changes {
  manifest?: Partial<Manifest>;
  more?: string[];
  less?: string[];
  texts?: Record<string, string>;
}

/** This checkout's package, without a build: one file in each folder, and the bill of materials as the build writes it. */
function packed({ manifest: changed = {}, more = [], less = [], texts = {} }: Changes = {}): Packed {
  const manifest = { ...JSON.parse(readFileSync(join(root, "package.json"), "utf8")), ...changed } as Manifest;
  const roots = ["bin/keystead.js", "console/dist/index.html", "deploy/x", "docs/x.md", "handbook/dist/index.html"];
  const always = ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "THREAT-MODEL.md"];
  const files = new Set([...always, ...roots, SBOM, ...more].filter((path) => !less.includes(path)));
  const built: Record<string, string> = { [SBOM]: JSON.stringify(sbomOfCheckout()), ...texts };
  return { manifest, files, read: (path) => built[path] ?? readFileSync(join(root, path), "utf8") };
}

describe("the metadata of the package", () => {
  it("is sound", () => assert.deepEqual(metadataProblems(packed()), []));

  const otherSbom = (change: (sbom: Record<string, never>) => object) =>
    packed({ texts: { [SBOM]: JSON.stringify(change(sbomOfCheckout() as never)) } });
  const invalid: [what: string, Packed, RegExp][] = [
    ["a name that npm does not take", packed({ manifest: { name: "Key stead" } }), /^name is/],
    ["a version that is none", packed({ manifest: { version: "1.0" } }), /^version is "1\.0"/],
    ["a description that is missing", packed({ manifest: { description: "" } }), /^description/],
    ["another license", packed({ manifest: { license: "MIT" } }), /^license is "MIT"/],
    ["the text of another license", packed({ texts: { LICENSE: "MIT License" } }), /^LICENSE is not/],
    ["engines without Node", packed({ manifest: { engines: {} } }), /^engines/],
    ["modules of another kind", packed({ manifest: { type: "commonjs" } }), /^type/],
    ["no command", packed({ manifest: { bin: {} } }), /^bin names/],
    ["a command that is not packed", packed({ manifest: { bin: { keystead: "bin/x.js" } } }), /^bin: bin\/x\.js/],
    ["a command without its first line", packed({ texts: { "bin/keystead.js": "import x" } }), /^bin: bin\/keystead/],
    [
      "an export that is not packed",
      packed({ manifest: { exports: { ".": "./dist/x.js" } } }),
      /^exports: \.\/dist\/x/,
    ],
    ["a console that was not built", packed({ less: ["console/dist/index.html"] }), /^files: console\/dist is missing/],
    ["a file beside the folders", packed({ more: ["notes.md"] }), /^notes\.md is in no folder/],
    ["a root key", packed({ more: ["deploy/root.key"] }), /^deploy\/root\.key must not/],
    ["settings of a shell", packed({ more: ["deploy/.env"] }), /^deploy\/\.env must not/],
    ["a range of versions", packed({ manifest: { dependencies: { pg: "^8.0.0" } } }), /^dependencies: pg is \^8/],
    ["no provenance", packed({ manifest: { publishConfig: { access: "public" } } }), /^publishConfig/],
    ["no bill of materials", packed({ less: [SBOM] }), /^dist\/sbom\.cdx\.json is missing/],
    ["another version's bill", packed({ manifest: { version: "9.9.9" } }), /is of keystead 0/],
    ["a bill of another form", otherSbom((sbom) => ({ ...sbom, specVersion: "1.4" })), /is not CycloneDX 1\.6/],
    ["a bill that lacks one", otherSbom((sbom) => ({ ...sbom, components: [] })), /lacks secp256k1@/],
  ];
  for (const [what, given, problem] of invalid) {
    it(`is refused with ${what}`, () => {
      const problems = metadataProblems(given);
      assert.ok(
        problems.some((each) => problem.test(each)),
        `${problems}`,
      );
    });
  }

  it("leaves to the publisher what nobody else knows", () => {
    const entry = "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- Something.\n";
    const complete = packed({
      manifest: { version: "1.2.3", private: false, repository: { type: "git", url: "git+https://git.example/x.git" } },
      texts: { "CHANGELOG.md": entry },
    });
    assert.deepEqual(openPoints(complete), []);
    const { manifest, read } = complete;
    const open = (changed: Partial<Manifest>, changelog = entry) =>
      openPoints({
        manifest: { ...manifest, ...changed },
        read: (path) => (path === "CHANGELOG.md" ? changelog : read(path)),
      });
    assert.match(open({ repository: "" }).join(), /^package\.json has no `repository`/);
    assert.match(open({ repository: { type: "git" } }).join(), /^package\.json has no `repository`/);
    assert.match(open({ private: true }).join(), /^package\.json has `private/);
    for (const none of [
      "## [Unreleased]\n\n- Something.\n",
      "## [1.2.3]\n\n- Something.\n",
      "## [1.2.3] - 2026-01-31\n\n## [1.2.2] - 2026-01-01\n\n- Something.\n",
      "## [1.2.30] - 2026-01-31\n\n- Something.\n",
    ]) {
      assert.match(open({}, none).join(), /^CHANGELOG\.md has no entry `## \[1\.2\.3\]/, none);
    }
  });
});

it("two tarballs are told apart by their files", (test) => {
  const folder = mkdtempSync(join(tmpdir(), "keystead-packed-"));
  test.after(() => rmSync(folder, { recursive: true }));
  const filesOf = (name: string, texts: Record<string, string>) => {
    const source = join(folder, `${name}-source`);
    mkdirSync(join(source, "package", "docs"), { recursive: true });
    for (const [path, text] of Object.entries(texts)) writeFileSync(join(source, "package", path), text);
    execFileSync("tar", ["-czf", join(folder, `${name}.tgz`), "-C", source, "package"]);
    return filesIn(unpack(join(folder, `${name}.tgz`), join(folder, name)));
  };
  const one = filesOf("one", { "a.js": "1", "b.js": "2", "docs/c.md": "3" });
  assert.deepEqual([...one.keys()], ["a.js", "b.js", "docs/c.md"]);
  assert.deepEqual(differences(one, filesOf("same", { "docs/c.md": "3", "a.js": "1", "b.js": "2" })), []);
  const other = filesOf("other", { "a.js": "1", "docs/c.md": "4", "d.js": "5" });
  assert.deepEqual(differences(one, other), ["b.js", "d.js", "docs/c.md"]);
});
