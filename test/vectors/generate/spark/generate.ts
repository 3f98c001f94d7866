import { readFileSync, writeFileSync } from "node:fs";
import { drawFrom, payloadCase, shareCase } from "./oracle.ts";

/** Writes the vectors: what the published SDK says of inputs that are always the same. */

const CASES_OF_EACH_KIND = 12;

const draw = drawFrom("keystead spark vectors");
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const source = `@buildonspark/spark-sdk ${manifest.dependencies["@buildonspark/spark-sdk"]}`;

function write(name: string, cases: object[]): void {
  const target = new URL(`../../spark/${name}.json`, import.meta.url);
  const lines = cases.map((one) => `    ${JSON.stringify(one)}`).join(",\n");
  writeFileSync(target, `{\n  "source": ${JSON.stringify(source)},\n  "cases": [\n${lines}\n  ]\n}\n`);
}

const shares: object[] = [];
for (const operators of [1, 2, 3, 5, 10]) {
  for (const withAdaptor of [false, true]) {
    const count =
      operators === 10 ? CASES_OF_EACH_KIND / 3 : operators === 3 ? 10 * CASES_OF_EACH_KIND : CASES_OF_EACH_KIND;
    for (let at = 0; at < count; at++) shares.push(await shareCase(draw, operators, withAdaptor));
  }
}
write("frost", shares);

const payloads = Array.from({ length: 16 }, (_, at) => payloadCase(draw, at));
write("payloads", payloads);
