import assert from "node:assert/strict";
import { it } from "node:test";
import { Memory } from "./memory.ts";

it("lines that a sink did not take come again as they were, and what is left out meanwhile is counted beside them", () => {
  const memory = new Memory();
  memory.add("one");
  memory.leaveOut("activities_dropped", 1000);
  memory.leaveOut("activities_dropped", 2000);
  const first = memory.take();
  memory.leaveOut("activities_dropped", 3000);
  const again = memory.take();
  assert.deepEqual(again.lines, first.lines);
  assert.equal(memory.countOf("activities_dropped"), 3);
  again.delivered();
  assert.equal(memory.countOf("activities_dropped"), 1);
  const rest = memory.take();
  const [line, ...others] = rest.lines.map((each) => JSON.parse(each));
  assert.deepEqual(
    [line.event, line.count, line.from, others],
    ["activities_dropped", 1, "1970-01-01T00:00:03.000Z", []],
  );
  rest.delivered();
  assert.equal(memory.isEmpty, true);
});
