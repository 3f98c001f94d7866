import { createHash } from "node:crypto";
import type { MarkdownOptions } from "vitepress";

/** Highlighted code without inline styles: each style that the highlighter asks for becomes a class of one style sheet. */

type Transformer = NonNullable<MarkdownOptions["codeTransformers"]>[number];

export interface ClassesOfCode {
  transformer: Transformer;
  /** Of everything that was highlighted until now. */
  css(): string;
}

export function classesOfCode(): ClassesOfCode {
  const classes = new Map<string, string>();
  const classOf = (style: string): string => {
    const name = `c-${createHash("sha256").update(style).digest("hex").slice(0, 8)}`;
    classes.set(style, name);
    return name;
  };
  return {
    transformer: {
      name: "classes-for-styles",
      pre: (node) => moveStyle(node.properties, classOf),
      span: (node) => moveStyle(node.properties, classOf),
    },
    css: () =>
      [...classes]
        .sort(([first], [second]) => (first < second ? -1 : 1))
        .map(([style, name]) => `.shiki .${name}, .shiki.${name} { ${style} }`)
        .join("\n"),
  };
}

function moveStyle(properties: Record<string, unknown>, classOf: (style: string) => string): void {
  const { style, class: given = "" } = properties;
  if (style === undefined) return;
  delete properties.style;
  const text = typeof style === "string" ? style : declarations(style as Record<string, string>);
  properties.class = `${given} ${classOf(text)}`.trim();
}

const declarations = (style: Record<string, string>): string =>
  Object.entries(style)
    .map(([name, value]) => `${name}:${value}`)
    .join(";");
