import { readFileSync, writeFileSync } from "node:fs";
import { Address } from "@ton/core";
import { type Chain, chains } from "./chains.ts";
import { type Curve, keys } from "./keys.ts";
import { MNEMONIC, publicKeyAt, published } from "./mnemonic.ts";

/**
 * Writes one file of vectors for each chain, one for the mnemonic that wallets are compared by, and one with the spellings
 * that TON has for its addresses.
 */

const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const versionOf = (library: string): string => `${library} ${manifest.dependencies[library]}`;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

interface Case {
  format: string;
  curve: Curve;
  publicKey: string;
  address: string;
}

function write(name: string, content: object): void {
  const target = new URL(`../../addresses/${name}.json`, import.meta.url);
  writeFileSync(target, `${JSON.stringify(content, null, 2)}\n`);
}

async function addressOf(chain: Chain, format: string, curve: Curve, publicKey: Uint8Array): Promise<string> {
  const address = await chain.formats[format]?.[curve]?.(publicKey);
  if (address === undefined) throw new Error(`${chain.library} made no ${format} address`);
  return address;
}

async function casesOf(chain: Chain): Promise<(Case & { why: string })[]> {
  const cases = [];
  for (const [format, byCurve] of Object.entries(chain.formats)) {
    for (const curve of Object.keys(byCurve) as Curve[]) {
      for (const { why, publicKey } of keys[curve]) {
        const address = await addressOf(chain, format, curve, publicKey);
        cases.push({ why, format: `ADDRESS_FORMAT_${format}`, curve, publicKey: hex(publicKey), address });
      }
    }
  }
  return cases;
}

async function mnemonicCases(): Promise<(Case & { path: string })[]> {
  const cases = [];
  for (const [format, path, expected] of published) {
    const chain = Object.values(chains).find(({ formats }) => format in formats);
    const [curve] = Object.keys(chain?.formats[format] ?? {}) as Curve[];
    if (chain === undefined || curve === undefined) throw new Error(`no library for ${format}`);
    const publicKey = publicKeyAt(curve, path);
    const address = await addressOf(chain, format, curve, publicKey);
    if (address !== expected) throw new Error(`${format} at ${path} is ${address}, published is ${expected}`);
    cases.push({ path, format: `ADDRESS_FORMAT_${format}`, curve, publicKey: hex(publicKey), address });
  }
  return cases;
}

function spellingsOf(address: string): string[] {
  const parsed = Address.parse(address);
  const flags = [true, false];
  const friendly = flags.flatMap((urlSafe) =>
    flags.flatMap((bounceable) => flags.map((testOnly) => parsed.toString({ urlSafe, bounceable, testOnly }))),
  );
  return [...new Set([...friendly, parsed.toRawString(), parsed.toRawString().toUpperCase()])];
}

async function tonSpellings(): Promise<{ address: string; spellings: string[] }[]> {
  const cases = await casesOf(chains.ton as Chain);
  return cases.map(({ address }) => ({ address, spellings: spellingsOf(address) }));
}

for (const [name, chain] of Object.entries(chains)) {
  write(name, { source: versionOf(chain.library), cases: await casesOf(chain) });
}
write("mnemonic", { mnemonic: MNEMONIC, cases: await mnemonicCases() });
write("ton-spellings", { source: versionOf("@ton/core"), cases: await tonSpellings() });
process.exit(0);
