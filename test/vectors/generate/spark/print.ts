import { drawFrom, payloadCase, shareCase } from "./oracle.ts";

/** Prints cases of the inputs that come of the seed given as its one argument, as JSON: `{ frost, payloads }`. */

const CASES = 64;
const OPERATORS = [1, 2, 3, 5, 10];

const [, , seed = ""] = process.argv;
const draw = drawFrom(seed);
const frost: object[] = [];
for (let at = 0; at < CASES; at++) {
  frost.push(
    await shareCase(draw, OPERATORS[at % OPERATORS.length] as number, Math.floor(at / OPERATORS.length) % 2 === 1),
  );
}
const payloads = Array.from({ length: CASES }, (_, at) => payloadCase(draw, at));
process.stdout.write(JSON.stringify({ frost, payloads }), () => process.exit(0));
