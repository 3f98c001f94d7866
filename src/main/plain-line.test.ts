import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { it } from "node:test";
import { DatabaseFailure } from "../storage/failure.ts";
import { plainLine } from "./plain-line.ts";

const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
};

it("what the system refuses is a line with the remedy", () => {
  const missing = thrownBy(() => mkdtempSync("/nonexistent/keystead-"));
  assert.match(plainLine(missing) ?? "", /^ENOENT: [^\n]+'\/nonexistent\/[^\n]+; check the path: it is not there$/);
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  assert.match(plainLine(full) ?? "", /; make room on that disk, or use another place$/);
});

it("what the database refuses is one as well", () => {
  const full = new DatabaseFailure("unavailable", Object.assign(new Error("no room"), { code: "53100" }));
  assert.match(plainLine(full) ?? "", /^the database has no room left on its disk \(no room\); .+ again/);
});

it("a defect keeps its stack", () => {
  const ofNode = thrownBy(() => Buffer.alloc(-1));
  assert.equal((ofNode as NodeJS.ErrnoException).code, "ERR_OUT_OF_RANGE");
  for (const defect of [ofNode, new TypeError("x is no function"), new DatabaseFailure("bug", new Error("no table"))]) {
    assert.equal(plainLine(defect), undefined);
  }
});
