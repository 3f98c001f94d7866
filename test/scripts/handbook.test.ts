import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parts } from "../../handbook/chapters.ts";
import { anchorOf } from "../../handbook/links.ts";
import { referencePages } from "../../scripts/handbook/references.ts";
import { capabilities } from "../../src/capabilities/index.ts";
import { describedErrors } from "../../src/kernel/errors.ts";
import * as limits from "../../src/kernel/limits.ts";
import { Settings } from "../../src/main/config.ts";

/** The handbook's sources: nothing links to nowhere, and the references leave nothing out. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const docs = join(root, "docs");
const markdownIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));

/** Text without what is shown as it is. */
const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");

/** A heading that stands twice on a page is linked to with a number. */
function anchorsOf(text: string): Set<string> {
  const found = new Set<string>();
  for (const [, heading = ""] of text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm)) {
    const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", ""));
    let name = anchor;
    for (let count = 1; found.has(name); count++) name = `${anchor}-${count}`;
    found.add(name);
  }
  return found;
}

describe("the handbook's sources", () => {
  /** By path; the generated ones are where they will be. */
  let pages: Map<string, string>;
  let generated: Map<string, string>;
  before(async () => {
    const written = [
      ...markdownIn(docs),
      ...readdirSync(root)
        .filter((name) => name.endsWith(".md"))
        .map((name) => join(root, name)),
    ];
    generated = await referencePages();
    pages = new Map([
      ...written.map((path): [string, string] => [path, readFileSync(path, "utf8")]),
      ...[...generated].map(([path, text]): [string, string] => [join(docs, path), text]),
    ]);
  });

  it("link to what is there, down to the heading", () => {
    const dead: string[] = [];
    let count = 0;
    for (const [path, text] of pages) {
      for (const [, target = ""] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        count++;
        const [file = "", anchor] = target.split("#");
        const found = file === "" ? path : join(dirname(path), decodeURIComponent(file));
        const page = pages.get(found);
        const isThere = page === undefined ? existsSync(found) : anchor === undefined || anchorsOf(page).has(anchor);
        if (!isThere) dead.push(`${relative(root, path)}: ${target}`);
      }
    }
    assert.deepEqual(dead, []);
    assert.ok(count > 500, `${count} links were looked at`);
  });

  it("have each guide in a chapter, and no chapter twice", () => {
    const listed = Object.values(parts).flat();
    assert.equal(new Set(listed).size, listed.length);
    const guides = readdirSync(join(docs, "guide")).map((name) => `guide/${name.replace(/\.md$/, "")}`);
    assert.deepEqual(
      guides.filter((guide) => !listed.includes(guide)),
      [],
    );
    const missing = listed.filter((path) => !pages.has(join(docs, `${path.replace(/index$/, "README")}.md`)));
    assert.deepEqual(missing, []);
  });

  const page = (name: string): string => generated.get(`reference/${name}.md`) ?? assert.fail(`there is no ${name}`);
  const assertHas = (text: string, names: readonly string[], shown: (name: string) => string) => {
    assert.ok(names.length > 0);
    assert.deepEqual(
      names.filter((name) => !text.includes(shown(name))),
      [],
    );
  };

  it("have every operation with the request that a test has made", () => {
    const operations = capabilities.flatMap(({ operations }) => operations.map(({ path }) => path));
    const all = [...generated].filter(([path]) => path.startsWith("reference/operations/")).map(([, text]) => text);
    assertHas(all.join("\n"), operations, (path) => `\n## ${path}\n`);
    const examples = readdirSync(join(docs, "examples")).map((name) => name.replace(/\.json$/, ""));
    const texts = new Map(all.flatMap((text) => text.split(/^## /m)).map((text) => [text.split("\n", 1)[0], text]));
    assertHas(examples.filter((name) => texts.get(name)?.includes("Request:\n")).join("\n"), examples, (name) => name);
  });

  it("have every error with what to do about it", () => {
    const sections = page("errors").split(/^## /m).slice(1);
    assert.deepEqual(
      sections.map((text) => text.split("\n", 1)[0]),
      describedErrors().map(({ code }) => code),
    );
    for (const section of sections) assert.match(section, /\*\*What to do:\*\* [A-Z`]/);
  });

  it("have every setting, every limit, and the figures that rules of alerts ask about", () => {
    assertHas(page("settings"), Object.keys(Settings.properties), (name) => `\`${name}\``);
    assertHas(
      page("limits"),
      Object.keys(limits).filter((name) => /^[A-Z0-9_]+$/.test(name)),
      (name) => `\`${name}\``,
    );
    const rules = readdirSync(join(root, "deploy", "prometheus")).map((name) =>
      readFileSync(join(root, "deploy", "prometheus", name), "utf8"),
    );
    const asked = [...rules.join("\n").matchAll(/\bkeystead_[a-z0-9_]+?(?=_bucket|_count|_sum|[^a-z0-9_])/g)].map(
      ([name]) => name,
    );
    assertHas(page("metrics"), [...new Set(asked)], (name) => `\`${name}\``);
  });

  it("have every fact that policies can ask about", () => {
    const facts = ["approvers[].tags", "eth.tx.contract_call_args", "solana.tx.transfers[].amount", "time.now"];
    assertHas(page("policy-facts"), facts, (name) => `\`${name}\``);
  });
});
