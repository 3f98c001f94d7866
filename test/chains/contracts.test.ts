import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { compileContracts } from "../../scripts/compile-contracts.ts";

it("the committed artifacts are what the sources in contracts/ compile to", () => {
  const artifacts = compileContracts();
  assert.ok(artifacts.size > 0);
  for (const [path, content] of artifacts)
    assert.equal(
      readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"),
      content,
      `${path}: run npm run contracts`,
    );
});
