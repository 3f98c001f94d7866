import { readFileSync } from "node:fs";
import type { Json } from "./client.ts";

/** The examples of a guide, which tests run as they stand there. */

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<Json>;

/** The examples in a language below one heading of `docs/guide/<name>.md`, in their order. */
export function examplesIn(name: string): (heading: string, language?: string) => string[] {
  const sections = readFileSync(new URL(`../../docs/guide/${name}.md`, import.meta.url), "utf8").split(/^## /m);
  return (heading, language = "js") => {
    const section = sections.find((text) => text.startsWith(`${heading}\n`));
    if (section === undefined) throw new Error(`${name}.md has no heading ${heading}`);
    return [...section.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
      ([, code]) => code as string,
    );
  };
}

/** Runs an example with what the text says is there; resolves to the variables that it is asked for. */
export const runExample = (code: string, given: object, answers = ""): Promise<Json> =>
  new AsyncFunction(...Object.keys(given), `${code}\nreturn { ${answers} };`)(...Object.values(given));
