import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_OPEN_FIRST_USES } from "../../kernel/limits.ts";
import type { Principal } from "./authenticate.ts";
import { firstUses } from "./first-uses.ts";

/** A database whose commits end when the test says so. */
function heldDatabase() {
  const ends: { commit: () => void; fail: () => void }[] = [];
  const transact = () =>
    new Promise<never>((resolve, reject) => {
      ends.push({ commit: resolve as () => void, fail: () => reject(new Error("read-only")) });
    });
  return { ends, note: firstUses({ transact }) };
}

const principalOf = (id: string, isFirstUse = true) =>
  ({ isFirstUse, credentialKey: { kind: {} }, actor: { organizationId: "o", credential: { id } } }) as Principal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("however many queries come at once, a first use is noted once", async () => {
  const { ends, note } = heldDatabase();
  for (let count = 0; count < 100; count++) note(principalOf("one"), 1);
  note(principalOf("two"), 1);
  note(principalOf("three", false), 1);
  assert.equal(ends.length, 2);
  ends[0]?.commit();
  await settled();
  note(principalOf("one", false), 2);
  assert.equal(ends.length, 2, "a credential that was used before writes nothing");
});

test("a note that fails disturbs nobody and is made at the next use", async () => {
  const { ends, note } = heldDatabase();
  note(principalOf("one"), 1);
  ends[0]?.fail();
  await settled();
  note(principalOf("one"), 2);
  assert.equal(ends.length, 2);
});

test("notes that wait are bounded", () => {
  const { ends, note } = heldDatabase();
  for (let count = 0; count < MAX_OPEN_FIRST_USES + 10; count++) note(principalOf(`${count}`), 1);
  assert.equal(ends.length, MAX_OPEN_FIRST_USES);
});
