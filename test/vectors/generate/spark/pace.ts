import { createInterface } from "node:readline";
import { paceOf, timed } from "../../../../bench/lanes.ts";
import { drawFrom, sharesOf } from "./oracle.ts";

/**
 * How many times a second the published WebAssembly makes a batch of shares, by itself. Of each line on standard input,
 * `{ batch, operators, seconds }`, it prints one: `{ perSecond, p50Ms, p99Ms }`, of batches.
 */

const draw = drawFrom("keystead spark pace");
for await (const line of createInterface({ input: process.stdin })) {
  const { batch, operators, seconds } = JSON.parse(line) as { batch: number; operators: number; seconds: number };
  const makeShares = sharesOf(draw, batch, operators);
  const pace = await paceOf([undefined], () => timed(makeShares), seconds);
  process.stdout.write(`${JSON.stringify(pace)}\n`);
}
process.exit(0);
