import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../test/support/any-text.ts";
import { checkOutboundUrl } from "./url-rules.ts";

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/whatwg-url/outbound.json", import.meta.url), "utf8"),
) as { accepted: Record<string, string>; development: string[]; refused: string[] };

const production = { allowPrivateNetworks: false };
const development = { allowPrivateNetworks: true };

function hrefOf(text: string, policy: { allowPrivateNetworks: boolean }): string | undefined {
  const checked = checkOutboundUrl(text, policy);
  return "url" in checked ? checked.url.href : undefined;
}

function problemOf(text: string): string {
  const checked = checkOutboundUrl(text, production);
  return "problem" in checked ? checked.problem : "";
}

test("public https URLs are accepted, in their one canonical form", () => {
  assert.ok(Object.keys(vectors.accepted).length >= 26);
  for (const [text, href] of Object.entries(vectors.accepted)) {
    assert.equal(hrefOf(text, production), href, text);
    assert.equal(hrefOf(text, development), href, text);
  }
});

test("local and private targets need allowPrivateNetworks", () => {
  assert.ok(vectors.development.length >= 58);
  for (const text of vectors.development) {
    assert.equal(hrefOf(text, production), undefined, text);
    assert.notEqual(hrefOf(text, development), undefined, text);
  }
});

test("what two parsers could read in two ways is refused everywhere", () => {
  assert.ok(vectors.refused.length >= 80);
  for (const text of vectors.refused) {
    assert.equal(hrefOf(text, production), undefined, JSON.stringify(text));
    assert.equal(hrefOf(text, development), undefined, JSON.stringify(text));
  }
});

test("length is bounded before and after encoding", () => {
  const ofLength = (length: number) => "https://example.com/".padEnd(length, "a");
  assert.notEqual(hrefOf(ofLength(2048), production), undefined);
  assert.equal(problemOf(ofLength(2049)), "is longer than 2048 characters");
  assert.equal(problemOf(`https://example.com/${"é".repeat(400)}`), "is longer than 2048 characters when encoded");
  assert.equal(problemOf(`https://${"a.".repeat(130)}com/`), "must have a valid host name");
  assert.equal(problemOf(`https://${"a".repeat(64)}.com/`), "must have a valid host name");
  assert.notEqual(hrefOf(`https://${"a".repeat(63)}.com/`, production), undefined);
});

test("the problem says what to change", () => {
  assert.equal(problemOf("http://example.com/"), "must use https");
  assert.equal(problemOf("https://user@example.com/"), "must not contain a user name or password");
  assert.equal(problemOf("https://example.com/#top"), "must not contain a fragment");
  assert.equal(problemOf("https://example.com:0/"), "must not use port 0");
  assert.equal(problemOf("https://2130706433/"), "must have a public address");
  assert.equal(problemOf("https://intranet/"), "must have a public host name");
  assert.equal(problemOf("https://example.com./"), "must have a host name without a dot at its end");
});

test("no text throws, and what is accepted is https to a public-looking host", () => {
  const pieces = fc.constantFrom(
    ..."https:// http:// // / \\ @ : # ? . % [ ] 0 127 localhost example com ::1 0x7f xn-- é \t \u0000 %00".split(" "),
  );
  const texts = fc.oneof(
    anyText(),
    fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join("")),
    fc.array(pieces, { maxLength: 6 }).map((parts) => `https://${parts.join("")}`),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const checked = checkOutboundUrl(text, production);
      if (!("url" in checked)) return assert.ok(checked.problem.length > 0);
      const { url } = checked;
      assert.equal(url.protocol, "https:");
      assert.equal(`${url.username}${url.password}${url.hash}`, "");
      assert.ok(url.hostname.includes(".") || url.hostname.startsWith("["), url.href);
      assert.equal(hrefOf(url.href, production), url.href);
    }),
    { numRuns: 5000 },
  );
});
