import { cruise, type ICruiseResult } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";

/** Holds src/ and console/ against the layers, and makes sure that they were really read: a tool that sees nothing finds nothing. */
const MIN_MODULES = { src: 100, "console/src": 20, "console/frames": 5 };

const config = await extractConfig("./.dependency-cruiser.cjs");
const { output } = await cruise(
  Object.keys(MIN_MODULES),
  { ...config.options, ruleSet: { forbidden: config.forbidden ?? [] }, validate: true },
  undefined,
  { tsConfig: extractTsConfig("tsconfig.json") },
);
const { modules, summary } = output as ICruiseResult;
const counts = Object.entries(MIN_MODULES).map(([folder, least]) => ({
  folder,
  least,
  count: modules.filter(({ source }) => source.startsWith(`${folder}/`)).length,
}));
const unread = counts.filter(({ count, least }) => count < least);
for (const { from, to, rule } of summary.violations) process.stderr.write(`${rule.name}: ${from} -> ${to}\n`);
for (const { folder, count, least } of unread) {
  process.stderr.write(`only ${count} modules of ${folder} were cruised, expected more than ${least}\n`);
}
const told = counts.map(({ folder, count }) => `${count} of ${folder}`).join(", ");
process.stdout.write(`modules cruised: ${told}; ${summary.violations.length} violations\n`);
process.exit(summary.violations.length > 0 || unread.length > 0 ? 1 : 0);
