import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { contentSecurityPolicy, ownScripts } from "./content-security-policy.ts";

describe("the content security policy of a page", () => {
  it("forbids what is not named, and framing by anybody", () => {
    assert.equal(
      contentSecurityPolicy({}),
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });

  it("has the sources that a page names, in place of the usual ones", () => {
    const policy = contentSecurityPolicy(
      { "style-src": "'unsafe-inline'", "img-src": "'self' data:" },
      "https://a.example",
    );
    assert.match(policy, /; style-src 'unsafe-inline'; img-src 'self' data:; /);
    assert.match(policy, /; frame-ancestors https:\/\/a\.example$/);
  });

  it("allows each script that is written in the page, once, and none that it loads from elsewhere", () => {
    const hash = `'sha256-${createHash("sha256").update("let a;").digest("base64")}'`;
    const html = `<script>let a;</script><script src="https://b.example/b.js"></script><script type="module">let a;</script>`;
    assert.equal(ownScripts(html), `'self' ${hash}`);
  });
});
