import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSource, sourceFiles, withoutComments } from "../support/sources.ts";

/**
 * Operations are given the identifiers and the time of what they do (`id("place")`, `now`), so that one that is tried again does the
 * same. It is the source that is read; who may make identifiers, draw at random or look at a clock is named here with the reason.
 */

const exceptions: Record<string, { makes: string[]; because: string }> = {
  "capabilities/deployments/ingress.ts": {
    makes: ["performance.now"],
    because: "how fast small pieces of answers come is measured",
  },
  "capabilities/deployments/keeper.ts": {
    makes: ["newId", "newId"],
    because: "a server's name among the others, and a file that is renamed",
  },
  "capabilities/history/follow-solana.ts": {
    makes: ["performance.now", "performance.now"],
    because: "a job's turn ends after a while",
  },
  "capabilities/history/follow.ts": {
    makes: ["performance.now", "performance.now"],
    because: "a job's turn ends after a while",
  },
  "capabilities/invitations/tokens.ts": { makes: ["randomBytes"], because: "nobody may guess what lets somebody in" },
  "capabilities/messages/events.ts": { makes: ["newIdAt"], because: "what mail servers tell comes by itself" },
  "capabilities/sending/evm/follow.ts": { makes: ["newId"], because: "a job sends the sponsor's own transaction" },
  "capabilities/webhooks/deliver.ts": {
    makes: ["performance.now", "performance.now"],
    because: "a job measures how long a receiver took",
  },
  "capabilities/webhooks/events.ts": {
    makes: ["newId", "newId"],
    because: "an event has as many deliveries as there are endpoints when it comes",
  },
};

/** What a source makes of its own: identifiers, what is random, or the time. */
function madeIn(source: string): string[] {
  const code = withoutComments(source).replace(/^import .*$/gm, "");
  const found = code.matchAll(
    /\b(?:newId(?:At)?|Date\.now|performance\.now|systemClock|random(?:Bytes|Int|UUID)|getRandomValues|Math\.random|uuidv7)\b|\bnew Date\(\)/g,
  );
  return [...found].map(([name]) => name);
}

describe("identifiers and the time", () => {
  it("are given to operations and to rules of authority", () => {
    const found = sourceFiles("capabilities", "authority")
      .map((file) => [file, madeIn(readSource(file))] as const)
      .filter(([, makes]) => makes.length > 0);
    const expected = Object.entries(exceptions).map(([file, { makes }]) => [file, makes] as const);
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(expected));
  });

  it("are seen where they are made", () => {
    assert.deepEqual(madeIn("const id = newId(); const all = Array.from({ length: 2 }, newId);"), ["newId", "newId"]);
    assert.deepEqual(madeIn("const at = Date.now(), and = new Date(), then = new Date(now);"), [
      "Date.now",
      "new Date()",
    ]);
    assert.deepEqual(madeIn('const secret = randomBytes(16).toString("hex");'), ["randomBytes"]);
    assert.deepEqual(madeIn('import { newId } from "../ids.ts"; // newId()'), []);
  });
});
