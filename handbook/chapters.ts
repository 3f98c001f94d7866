import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";

/** The handbook's table of contents. Pages are called what their first heading says. */

/** Paths below `docs/` without `.md`. */
export const parts: Record<string, readonly string[]> = {
  Begin: ["guide/quickstarts", "guide/signing", "guide/console", "guide/faq", "guide/glossary"],
  "Who may do what": ["guide/authorization", "guide/policy-language", "guide/policy-cookbook", "guide/proofs"],
  "Signing in": [
    "guide/sign-in",
    "guide/auth-proxy",
    "guide/oauth",
    "guide/email-sign-in",
    "guide/invitations",
    "guide/messages",
    "guide/frames",
  ],
  "Wallets and chains": [
    "guide/imports-and-exports",
    "guide/sending",
    "guide/history",
    "guide/swaps",
    "guide/earn",
    "guide/on-ramp",
    "guide/spark",
    "guide/deployments",
    "guide/webhooks",
  ],
  "Running it": [
    "guide/deploying",
    "guide/sizing",
    "guide/operating",
    "guide/upgrading",
    "guide/backup",
    "guide/audit",
    "guide/limits",
    "guide/migrating",
    "guide/comparison",
  ],
  Reference: [
    "reference/operations",
    "reference/errors",
    "reference/policy-facts",
    "reference/settings",
    "reference/metrics",
    "reference/limits",
  ],
  "For contributors": ["architecture", "adding-an-operation", "adr/index"],
};

export function chapters(source: string): DefaultTheme.Sidebar {
  const items = (paths: readonly string[]) =>
    paths.map((path) => ({ text: titleOf(source, path), link: linkTo(path) }));
  const sections = Object.entries(parts).map(([text, paths]) => ({ text, items: items(paths) }));
  const below = (folder: string, title: string) => [
    { text: title, items: items(pagesIn(source, folder)) },
    { text: "Handbook", items: [{ text: "All chapters", link: "/" }] },
  ];
  return {
    "/reference/operations": below("reference/operations", "Operations"),
    "/adr/": below("adr", "Decisions"),
    "/": sections.map((section, index) => ({ ...section, collapsed: index > 1 })),
  };
}

const linkTo = (path: string): string => `/${path.replace(/index$/, "")}`;

const pagesIn = (source: string, folder: string): string[] =>
  readdirSync(join(source, folder))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `${folder}/${name.slice(0, -".md".length)}`);

function titleOf(source: string, path: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(source, `${path}.md`), "utf8")) ?? [];
  if (title === undefined) throw new Error(`${path}.md has no title`);
  return title.replaceAll("`", "").replace(/^Operations: /, "");
}
