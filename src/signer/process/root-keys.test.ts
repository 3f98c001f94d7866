import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newRootKey } from "./root-key-file.ts";
import { RootKeys, rootKeyId } from "./root-keys.ts";
import { unseal } from "./seal.ts";

const CONTEXT = ["organization key", "organization"];
const SECRET = Buffer.from("a key of an organization");
const [one, two, other] = [newRootKey(), newRootKey(), newRootKey()];
const copies = (...keys: Buffer[]) => keys.map((key) => Buffer.from(key));

describe("the id of a root key", () => {
  it("names it and tells nothing of it", () => {
    assert.match(rootKeyId(one), /^[0-9a-f]{32}$/);
    assert.equal(rootKeyId(one), rootKeyId(Buffer.from(one)));
    assert.notEqual(rootKeyId(one), rootKeyId(two));
    // Databases and backups of every version remember it.
    assert.equal(rootKeyId(Buffer.alloc(32, 1)), "10388709d9b20935ffc418f0ccdecb8b");
  });
});

describe("root keys", () => {
  it("seal with the chosen one, which is first, and by default with the first", () => {
    for (const [chosen, sealing] of [
      [undefined, one],
      [rootKeyId(two), two],
      [rootKeyId(other), one],
    ] as const) {
      const keys = new RootKeys(copies(one, two), chosen);
      assert.equal(keys.ids[0], rootKeyId(sealing));
      assert.deepEqual([...keys.ids].sort(), [rootKeyId(one), rootKeyId(two)].sort());
      assert.deepEqual(unseal(sealing, CONTEXT, keys.seal(CONTEXT, SECRET)), SECRET);
    }
  });

  it("open what each of them has sealed, for its context alone", () => {
    const keys = new RootKeys(copies(one, two));
    for (const key of [one, two]) {
      const sealed = new RootKeys(copies(key)).seal(CONTEXT, SECRET);
      assert.deepEqual(keys.unseal(CONTEXT, sealed), SECRET);
      assert.equal(keys.unseal(["organization key", "another"], sealed), undefined);
    }
    assert.equal(keys.unseal(CONTEXT, new RootKeys(copies(other)).seal(CONTEXT, SECRET)), undefined);
  });

  it("seal anew what another one sealed, and leave alone what is sealed already", () => {
    const keys = new RootKeys(copies(one, two), rootKeyId(two));
    const before = new RootKeys(copies(one)).seal(CONTEXT, SECRET);
    const after = keys.reseal(CONTEXT, before) as string;
    assert.deepEqual(unseal(two, CONTEXT, after), SECRET);
    assert.equal(keys.reseal(CONTEXT, after), after);
    assert.equal(keys.reseal(["organization key", "another"], before), undefined);
    assert.equal(keys.reseal(CONTEXT, new RootKeys(copies(other)).seal(CONTEXT, SECRET)), undefined);
  });

  it("are wiped", () => {
    const [key] = copies(one) as [Buffer];
    new RootKeys([key]).wipe();
    assert.deepEqual(key, Buffer.alloc(32));
  });
});
