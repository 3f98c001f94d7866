import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceKeyOwner } from "../../engine/keys/service-keys.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Reader } from "../../storage/engine.ts";
import { NEXT_ROOT_KEY_ID, PREVIOUS_ROOT_KEY_ID, ROOT_KEY_ID } from "../../storage/installation-rows.ts";
import { RootKeyFollower } from "./follower.ts";

/** A server during a rotation of the root key, with a signer and a database of which each step is given. */

interface Remembered {
  current?: string;
  previous?: string;
  next?: string;
}

function server(open: string[], file: string[] = open) {
  const asked: string[] = [];
  const logged: string[] = [];
  let rows: { name: string; value: string | undefined }[] = [];
  let problem: string | undefined;
  let ownerKey = "";
  const signer = {
    rootKeyIds: open as readonly string[],
    sealsWith: open[0],
    async readRootKeysAgain() {
      asked.push("read again");
      if (problem !== undefined) throw new Error(problem);
      signer.rootKeyIds = file;
    },
    async sealWith(id: string) {
      asked.push(`seal with ${id}`);
      signer.sealsWith = id;
    },
  };
  const query = { selectAll: () => query, where: () => query, execute: async () => rows };
  const note = (fields: { reason?: string }, text: string) => void logged.push(fields.reason ?? text);
  const read = { kind: "sqlite", selectFrom: () => query, all: async () => [{ value: ownerKey }] } as unknown as Reader;
  const follower = new RootKeyFollower({
    signer: signer as never,
    read,
    log: { warn: note, error: note } as unknown as Logger,
  });
  /** What the signer is asked and what is logged once the database remembers this. */
  const look = async ({ current, previous, next }: Remembered, cannotRead?: string) => {
    const all = { [ROOT_KEY_ID]: current, [PREVIOUS_ROOT_KEY_ID]: previous, [NEXT_ROOT_KEY_ID]: next };
    rows = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
    problem = cannotRead;
    await follower.look();
    return { asked: asked.splice(0), logged: logged.splice(0).length, said: follower.said };
  };
  /** The key under which the installation's own keys are sealed, once the database has this one. */
  const ownerOnce = async (stored: string) => {
    ownerKey = stored;
    return (await serviceKeyOwner(read)).organizationKey;
  };
  return { look, signer, ownerOnce };
}

test("a rotation is followed from the announcement to its end", async () => {
  const { look } = server(["one"], ["one", "two"]);
  const before = { open: ["one"], isRotating: false };
  assert.deepEqual(await look({}), { asked: [], logged: 0, said: before });
  assert.deepEqual(await look({ current: "one" }), { asked: [], logged: 0, said: before });
  const ready = { open: ["one", "two"], isRotating: false };
  const announced = { current: "one", next: "two" };
  assert.deepEqual(await look(announced), { asked: ["read again"], logged: 0, said: ready });
  assert.deepEqual(await look(announced), { asked: [], logged: 0, said: ready }, "it is open already");
  const switched = { current: "two", previous: "one" };
  const rotating = { open: ["one", "two"], isRotating: true };
  assert.deepEqual(await look(switched), { asked: ["seal with two"], logged: 1, said: rotating });
  assert.deepEqual(await look(switched), { asked: [], logged: 0, said: rotating });
  assert.deepEqual(await look({ current: "two" }), { asked: [], logged: 1, said: ready });
  assert.deepEqual(await look({ current: "two" }), { asked: [], logged: 0, said: ready });
});

test("a server that starts during a rotation takes part in it, and one that starts after it says nothing", async () => {
  const during = await server(["one", "two"]).look({ current: "two", previous: "one" });
  assert.deepEqual([during.asked, during.said.isRotating], [["seal with two"], true]);
  const after = await server(["two"]).look({ current: "two" });
  assert.deepEqual([after.asked, after.logged], [[], 0]);
});

test("a signer that is sealed is not asked to read the file, because it cannot open it", async () => {
  const { look, signer } = server([]);
  signer.sealsWith = "one";
  assert.deepEqual((await look({ current: "one", next: "two" })).asked, []);
});

test("a file that cannot be read is tried at each look, and logged once for each reason", async () => {
  const { look } = server(["one"], ["one", "two"]);
  const announced = { current: "one", next: "two" };
  assert.deepEqual(await look(announced, "no such file"), {
    asked: ["read again"],
    logged: 1,
    said: { open: ["one"], isRotating: false },
  });
  assert.deepEqual((await look(announced, "no such file")).logged, 0);
  assert.deepEqual((await look(announced, "no permission")).logged, 1);
  const read = await look(announced);
  assert.deepEqual([read.asked, read.logged, read.said.open], [["read again"], 0, ["one", "two"]]);
});

test("a problem that comes back after the file was read is logged again", async () => {
  const { look, signer } = server(["one"]);
  const announced = { current: "one", next: "two" };
  assert.equal((await look(announced, "no such file")).logged, 1);
  await look(announced);
  assert.deepEqual(signer.rootKeyIds, ["one"], "the file has no second one yet");
  assert.equal((await look(announced, "no such file")).logged, 1);
});

test("what the previous root key sealed is not used once a rotation has ended", async () => {
  const { look, ownerOnce } = server(["one", "two"]);
  await look({ current: "two", previous: "one" });
  assert.equal(await ownerOnce("sealed with one"), "sealed with one");
  assert.equal(await ownerOnce("sealed with two"), "sealed with one", "it is kept");
  await look({ current: "two" });
  assert.equal(await ownerOnce("sealed with two"), "sealed with two");
});
