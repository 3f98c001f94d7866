import { cruise, type ICruiseResult } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";

/** Holds src/ against the layers, and makes sure that it was really read: a tool that sees nothing finds nothing. */
const MIN_MODULES = 100;

const config = await extractConfig("./.dependency-cruiser.cjs");
const { output } = await cruise(
  ["src"],
  { ...config.options, ruleSet: { forbidden: config.forbidden ?? [] }, validate: true },
  undefined,
  { tsConfig: extractTsConfig("tsconfig.json") },
);
const { modules, summary } = output as ICruiseResult;
const ours = modules.filter(({ source }) => source.startsWith("src/")).length;
for (const { from, to, rule } of summary.violations) process.stderr.write(`${rule.name}: ${from} -> ${to}\n`);
if (ours < MIN_MODULES) process.stderr.write(`only ${ours} modules were cruised, expected more than ${MIN_MODULES}\n`);
process.stdout.write(`${ours} modules cruised, ${summary.violations.length} violations\n`);
process.exit(summary.violations.length > 0 || ours < MIN_MODULES ? 1 : 0);
