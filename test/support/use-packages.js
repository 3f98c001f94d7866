// Plain JavaScript: it is loaded by every process of a test, and nothing is to be done to it first.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

// By the URL of an installed module, or of a main module of ours, that of the one which stands in for it (packages.ts, built-program.ts).
const urls = JSON.parse(readFileSync(decodeURIComponent(new URL(import.meta.url).search.slice(1)), "utf8"));
const known = new Map();

const isImport = ({ conditions }) => conditions.includes("import");

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = !context.parentURL?.includes("/node_modules/");
    // A file of ours beside one of ours: its name says all that Node would look for in folders, links and descriptions of packages.
    if (/^\.\.?\/.*\.ts$/.test(specifier) && isOurs && context.parentURL?.startsWith("file:") && isImport(context)) {
      const url = new URL(specifier, context.parentURL).href;
      if (urls[url] !== undefined) return { url: urls[url], format: "module", shortCircuit: true };
      return { url, format: "module-typescript", shortCircuit: true };
    }
    // One of ours names a file, which none stands in for, or a package, which is found at the same place by all of ours.
    if (isOurs && /^(\.|\/|node:|file:|data:)/.test(specifier)) return next(specifier, context);
    if (!isImport(context)) return next(specifier, context);
    const found = isOurs ? known.get(specifier) : undefined;
    if (found !== undefined) return found;
    const resolved = next(specifier, context);
    const url = urls[resolved.url];
    if (url === undefined) return resolved;
    const answer = { url, format: "module", shortCircuit: true };
    if (isOurs) known.set(specifier, answer);
    return answer;
  },
});
