import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { MAX_WAITING_LOG_LENGTH } from "./limits.ts";
import { LogOutput } from "./log-output.ts";
import { nextTurn } from "./next-turn.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-log-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A pipe that accepts data until its buffer is full, and more only once it is read. */
function openPipe(test: TestContext): { descriptor: number; read: () => string } {
  const path = join(folder, "pipe");
  rmSync(path, { force: true });
  execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  test.after(() => closeSync(descriptor));
  const read = () => {
    try {
      const bytes = Buffer.alloc(65536);
      return bytes.subarray(0, readSync(descriptor, bytes)).toString("latin1");
    } catch {
      return "";
    }
  };
  return { descriptor, read };
}

async function readUntil(read: () => string, isWhole: (text: string) => boolean): Promise<string> {
  let text = "";
  while (!isWhole(text)) {
    text += read();
    await nextTurn();
  }
  return text;
}

describe("the output of a log", () => {
  it("is written whole and in order, however slowly it is taken", async (test) => {
    const { descriptor, read } = openPipe(test);
    const output = new LogOutput(descriptor);
    const lines = Array.from({ length: 5000 }, (_, index) => `${index} ${"x".repeat(index % 100)}\n`);
    for (const line of lines) output.write(line);
    const all = lines.join("");
    assert.equal(await readUntil(read, (text) => text.length >= all.length), all);
    output.write("one more\n");
    assert.equal(await readUntil(read, (text) => text.endsWith("\n")), "one more\n");
  });

  it("loses what there is no room for, and says how much that was", async (test) => {
    const { descriptor, read } = openPipe(test);
    const output = new LogOutput(descriptor);
    const line = `${"x".repeat(1023)}\n`;
    const room = MAX_WAITING_LOG_LENGTH / line.length;
    for (let count = 0; count < room + 7; count++) output.write(line);
    const text = await readUntil(read, (text) => text.includes("were lost"));
    const lines = text.trimEnd().split("\n");
    assert.equal(lines.length, room + 1);
    const told = JSON.parse(lines.at(-1) as string);
    assert.deepEqual([told.level, told.count], ["warn", 7]);
  });
});
