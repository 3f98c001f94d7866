import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuSeconds, machineCpuSeconds, parseMachineStat, parseStat } from "./cpu.ts";

test("the command in a stat line may hold blanks and parentheses", () => {
  const stat = "1234 (a) b (c) S 77 1234 1234 0 -1 4194304 500 0 0 0 11 22 33 44 20 0 11 0 5000 0 0";
  assert.deepEqual(parseStat(stat), { parentPid: 77, ticks: 11 + 22 + 33 + 44 });
});

test("idle time and waiting for disks are not work", () => {
  const stat = "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
  assert.equal(parseMachineStat(stat), 100 + 20 + 30 + 6 + 7 + 8);
});

test("a process that works uses CPU", { skip: process.platform !== "linux" }, () => {
  const before = cpuSeconds(process.pid);
  const machineBefore = machineCpuSeconds();
  const until = process.cpuUsage().user + 200_000;
  while (process.cpuUsage().user < until);
  const used = cpuSeconds(process.pid) - before;
  assert.ok(used >= 0.15 && used < 5, `${used} s`);
  assert.ok(machineCpuSeconds() - machineBefore >= 0.15);
});
