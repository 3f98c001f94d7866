import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { FileSink } from "./file-sink.ts";
import { SinkFailure } from "./sink.ts";

const root = mkdtempSync(join(tmpdir(), "keystead-audit-"));
after(() => rmSync(root, { recursive: true, force: true }));

const TIMEOUT_MS = 60_000;
const newFolder = () => mkdtempSync(join(root, "f-"));

describe("the file of the audit stream", () => {
  it("is made with its folder, for its owner alone, and appended to", async () => {
    const path = join(newFolder(), "a", "b", "audit.ndjson");
    const sink = new FileSink({ path, maxBytes: 1e6, keep: 2 });
    await sink.deliver(["one", "two"], TIMEOUT_MS);
    await sink.close();
    const again = new FileSink({ path, maxBytes: 1e6, keep: 2 });
    await again.deliver(["three"], TIMEOUT_MS);
    await again.close();
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\nthree\n");
  });

  it("is begun anew when it is full, and so many full ones are kept", async () => {
    const folder = newFolder();
    const path = join(folder, "audit.ndjson");
    const sink = new FileSink({ path, maxBytes: 100, keep: 2 });
    for (let number = 0; number < 10; number++) await sink.deliver([`${number}`.padStart(40, "x")], TIMEOUT_MS);
    await sink.close();
    assert.deepEqual(readdirSync(folder).sort(), ["audit.ndjson", "audit.ndjson.1", "audit.ndjson.2"]);
    const numbersIn = (file: string) => readFileSync(file, "utf8").match(/\d+/g)?.map(Number);
    assert.deepEqual(numbersIn(`${path}.2`), [4, 5]);
    assert.deepEqual(numbersIn(`${path}.1`), [6, 7]);
    assert.deepEqual(numbersIn(path), [8, 9]);
  });

  it("is begun anew where somebody else has moved it", async () => {
    const path = join(newFolder(), "audit.ndjson");
    const sink = new FileSink({ path, maxBytes: 1e6, keep: 1 });
    await sink.deliver(["one"], TIMEOUT_MS);
    renameSync(path, `${path}.moved`);
    await sink.deliver(["two"], TIMEOUT_MS);
    rmSync(path);
    await sink.deliver(["three"], TIMEOUT_MS);
    await sink.close();
    assert.deepEqual(
      [`${path}.moved`, path].map((file) => readFileSync(file, "utf8")),
      ["one\n", "three\n"],
    );
  });

  it("counts what something else has appended to it", async () => {
    const path = join(newFolder(), "audit.ndjson");
    const sink = new FileSink({ path, maxBytes: 100, keep: 1 });
    await sink.deliver(["one"], TIMEOUT_MS);
    const foreign = `${"x".repeat(98)}\n`;
    appendFileSync(path, foreign);
    await sink.deliver(["two"], TIMEOUT_MS);
    await sink.close();
    assert.deepEqual(
      [`${path}.1`, path].map((file) => readFileSync(file, "utf8")),
      [`one\n${foreign}`, "two\n"],
    );
  });

  for (const [what, before, kept] of [
    ["the beginning of a line", "one\ntw", "one\n"],
    ["a beginning alone", "tw", ""],
    ["a long beginning", `one\n${"t".repeat(200_000)}`, "one\n"],
  ] as const) {
    it(`loses ${what} that a killed server left at its end`, async () => {
      const path = join(newFolder(), "audit.ndjson");
      appendFileSync(path, before);
      const sink = new FileSink({ path, maxBytes: 1e6, keep: 1 });
      await sink.deliver(["two"], TIMEOUT_MS);
      await sink.close();
      assert.equal(readFileSync(path, "utf8"), `${kept}two\n`);
    });
  }

  it("that cannot take lines says why, and takes them once it can", {
    skip: !existsSync("/dev/full") && "there is no /dev/full",
  }, async () => {
    const path = join(newFolder(), "audit.ndjson");
    symlinkSync("/dev/full", path);
    const sink = new FileSink({ path, maxBytes: 1e6, keep: 1 });
    const refused = (error: unknown) =>
      error instanceof SinkFailure && error.message === "has no room left on its disk";
    await assert.rejects(sink.deliver(["one"], TIMEOUT_MS), refused);
    await assert.rejects(sink.deliver(["one"], TIMEOUT_MS), refused);
    rmSync(path);
    await sink.deliver(["one"], TIMEOUT_MS);
    await sink.close();
    assert.equal(readFileSync(path, "utf8"), "one\n");
  });

  it("in a place where no folder can be is refused in words without the path", async () => {
    const folder = newFolder();
    appendFileSync(join(folder, "file"), "");
    const sink = new FileSink({ path: join(folder, "file", "audit.ndjson"), maxBytes: 1e6, keep: 1 });
    await assert.rejects(sink.deliver(["one"], TIMEOUT_MS), { message: "is in a place that does not exist" });
    await sink.close();
  });
});
