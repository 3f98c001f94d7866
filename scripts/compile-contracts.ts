import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * `npm run contracts`: what is committed of `contracts/`, compiled. The server deploys what is in `src/chains/evm/artifacts`; the
 * contracts that only tests deploy are in `test/support/artifacts`. The same sources make the same bytes on every machine.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);

const FOLDERS = [
  { sources: "contracts", artifacts: "src/chains/evm/artifacts" },
  { sources: "contracts/test", artifacts: "test/support/artifacts" },
];

const SETTINGS = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 10_000 },
  // Without a digest of comments and paths: only what runs decides on an address.
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
};

interface Output {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<string, Record<string, Compiled>>;
}
interface Compiled {
  abi: unknown[];
  evm: { bytecode: { object: string }; deployedBytecode: { object: string } };
}

/** The artifacts by path from the root: the contracts that the files define, without libraries and interfaces. @throws on any warning */
export function compileContracts(): Map<string, string> {
  const sources: Record<string, { content: string }> = {};
  for (const { sources: folder } of FOLDERS)
    for (const name of readdirSync(join(root, folder)).filter((entry) => entry.endsWith(".sol")))
      sources[`${folder}/${name}`] = { content: readFileSync(join(root, folder, name), "utf8") };
  const solc = require("solc") as { compile(input: string, callbacks: object): string };
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const { errors = [], contracts } = JSON.parse(solc.compile(input, { import: findImport })) as Output;
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  const artifacts = new Map<string, string>();
  for (const { sources: folder, artifacts: target } of FOLDERS)
    for (const path of Object.keys(sources).filter((source) => source === `${folder}/${basename(source)}`))
      for (const [name, { abi, evm }] of Object.entries(contracts[path] ?? {}))
        if (evm.bytecode.object) artifacts.set(`${target}/${name}.json`, artifact(name, abi, evm));
  return artifacts;
}

function artifact(contractName: string, abi: unknown[], { bytecode, deployedBytecode }: Compiled["evm"]): string {
  const codes = { creationCode: `0x${bytecode.object}`, runtimeCode: `0x${deployedBytecode.object}` };
  return `${JSON.stringify({ contractName, ...codes, abi }, null, 2)}\n`;
}

function findImport(path: string): { contents: string } | { error: string } {
  const folder = path.startsWith("@") ? "node_modules" : ".";
  try {
    return { contents: readFileSync(join(root, folder, path), "utf8") };
  } catch {
    return { error: `${path} is not there` };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { artifacts: folder } of FOLDERS) {
    rmSync(join(root, folder), { recursive: true, force: true });
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const [path, content] of compileContracts()) writeFileSync(join(root, path), content);
}
