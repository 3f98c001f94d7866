import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import type { Transactor } from "./engine.ts";
import { GroupCommit, type OpenTransaction } from "./group-commit.ts";

// As the command sets it for a server.
setFlagsFromString("--no-allocation-site-pretenuring");

const CALLERS = 64;
const OBJECTS = 300;

const transaction: OpenTransaction = {
  written: () => 0,
  savepoint: async () => {},
  release: async () => {},
  rollbackToSavepoint: async () => {},
  commit: () => new Promise((resolve) => void setImmediate(resolve)),
  rollback: async () => {},
  transactor: () => ({ tx: {} as Transactor, afterCommit: [], end: () => {} }),
};

const oldGeneration = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size ?? 0;

/**
 * Runs functions for callers that each wait for their answer before they ask again. Each function uses some objects.
 *
 * @returns how much the old generation grew while each thousand of them ran; a full collection makes it smaller
 */
async function growths(commits: GroupCommit, functions: number): Promise<number[]> {
  const sizes: number[] = [];
  let begun = 0;
  const call = async () => {
    while (begun < functions) {
      if (begun++ % 1000 === 0) sizes.push(oldGeneration());
      const used = Array.from({ length: OBJECTS }, (_, index) => ({ index }));
      await commits.run("a", async () => used.length);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return sizes.slice(1).map((size, index) => size - (sizes[index] as number));
}

test("what a function used does not get into the old generation once its caller has the answer", async () => {
  const commits = new GroupCommit({ concurrency: 1, scopes: "together", begin: async () => transaction });
  // The young generation has its size after the first thousands. What a full collection takes away does not count.
  const later = (await growths(commits, 20_000)).slice(5);
  const each = later.reduce((sum, growth) => sum + Math.max(0, growth), 0) / (1000 * later.length);
  // An object takes some 20 bytes, and its place in the list 8.
  assert.ok(each < (OBJECTS * 28) / 4, `the old generation grew by ${each} bytes for each function`);
});
