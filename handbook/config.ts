import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { DefaultTheme, MarkdownOptions, UserConfig } from "vitepress";
import { chapters } from "./chapters.ts";
import { classesOfCode } from "./code-classes.ts";
import { anchorOf } from "./links.ts";

/** The handbook: the Markdown of `docs/` with generated references, as pages that ask no other host and need no inline style. */

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

export const BASE = "/handbook/";

const code = classesOfCode();
/** Of the theme and of the highlighter: the page's policy has a class of ours in its place. */
const INLINE_STYLE = / style="(?:position:relative;|--vp-vh:0px;)"/g;

/** Pages are rendered when all code was highlighted. */
function writeStyles(outDir: string): string {
  const css = code.css();
  const name = `code.${createHash("sha256").update(css).digest("hex").slice(0, 8)}.css`;
  writeFileSync(join(outDir, "assets", name), css);
  return `${BASE}assets/${name}`;
}

/** @param source the folder that the Markdown was gathered in */
export const configFor = (source: string): UserConfig<DefaultTheme.Config> => ({
  base: BASE,
  title: "Keystead",
  titleTemplate: ":title · Keystead handbook",
  description: "Self-hosted key and wallet management.",
  lang: "en",
  cleanUrls: true,
  // It would be a style sheet that a script makes.
  appearance: { disableTransition: false },
  // Links are checked over the sources, with their headings, where a test says which one is wrong.
  ignoreDeadLinks: true,
  vite: { logLevel: "error", build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4000 } },
  markdown: {
    // A page's text is text, whatever stands in it.
    html: false,
    attrs: false,
    emoji: false,
    anchor: { slugify: anchorOf },
    theme: { light: "github-light", dark: "github-dark" },
    languageAlias: { ebnf: "txt" },
    codeTransformers: [code.transformer],
    config(md) {
      escapeTemplates(md);
      dropLinksOutside(md, source);
    },
  },
  transformHead: ({ siteConfig }) => [["link", { rel: "stylesheet", href: writeStyles(siteConfig.outDir) }]],
  transformHtml: (html) => html.replace(INLINE_STYLE, ""),
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Guides", link: "/guide/quickstarts" },
      { text: "Reference", link: "/reference/operations" },
      { text: "Decisions", link: "/adr/" },
    ],
    sidebar: chapters(source),
    externalLinkIcon: false,
  },
});

/** Two braces in a text are no expression of the framework that the pages are made with. */
function escapeTemplates({ renderer: { rules } }: MarkdownIt): void {
  for (const name of ["text", "code_inline"] as const) {
    const rule = rules[name];
    rules[name] = (...args) => (rule?.(...args) ?? "").replaceAll("{{", "&#123;&#123;");
  }
}

/** A link to what is beside the documentation, as to a file of the sources, is its text alone. */
function dropLinksOutside(md: MarkdownIt, source: string): void {
  md.core.ruler.push("links_outside", ({ tokens, env }) => {
    const folder = dirname(join(source, (env as { relativePath?: string }).relativePath ?? ""));
    for (const { children } of tokens) {
      let isDropped = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") isDropped = isOutside(token.attrGet("href") ?? "", folder, source);
        if (!isDropped || !token.type.startsWith("link_")) continue;
        token.tag = "span";
        token.attrs = null;
      }
    }
  });
}

function isOutside(href: string, folder: string, source: string): boolean {
  if (/^([a-z]+:|#|\/)/.test(href)) return false;
  const target = resolve(folder, href.replace(/[?#].*$/, ""));
  return relative(source, target).startsWith("..") || !existsSync(target);
}
