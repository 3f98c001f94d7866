import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { Json } from "./client.ts";

/**
 * Renders a chart as Helm does, as far as this project's chart goes: a template that needs more, names a value that there is none of, or is no
 * YAML in the end, is an error. So the chart is held to what it should be where there is no Helm.
 */

/** `a.b=c`, as `helm --set` takes it. */
export type Setting = string;

/** The objects of a release, as Kubernetes would be given them. @throws for values that the chart's schema refuses */
export function renderChart(chart: string, release: string, settings: readonly Setting[]): Json[] {
  const values = parse(readFileSync(join(chart, "values.yaml"), "utf8")) as Json;
  for (const setting of settings) set(values, setting);
  refuseOtherThan(chart, values);
  const templates = join(chart, "templates");
  const files = readdirSync(templates).map((name) => ({ name, text: readFileSync(join(templates, name), "utf8") }));
  const defined = new Map<string, Part[]>();
  const root = { Values: values, Release: { Name: release } };
  const parsed = files.map(({ name, text }) => ({ name, parts: partsOf(text, defined) }));
  return parsed
    .filter(({ name }) => name.endsWith(".yaml"))
    .flatMap(({ name, parts }) => objectsIn(name, render(parts, { root, dot: root, variables: {}, defined })));
}

/** The objects in a text of YAML documents. @throws where one is none */
export function objectsIn(name: string, text: string): Json[] {
  return parseAllDocuments(text, { strict: true, uniqueKeys: true })
    .map((document) => {
      const [problem] = [...document.errors, ...document.warnings];
      if (problem) throw new Error(`${name}: ${problem.message}\n${text}`);
      return document.toJS() as Json;
    })
    .filter((object) => object !== null);
}

function set(values: Json, setting: Setting): void {
  const [path = "", value = ""] = setting.split("=");
  const names = path.split(".");
  const last = names.pop() as string;
  const place = names.reduce((object, name) => (object[name] ??= {}), values);
  place[last] = /^[0-9]+$/.test(value) ? Number(value) : value;
}

function refuseOtherThan(chart: string, values: Json): void {
  const schema = JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8"));
  const [isRight, errors] = Compile(schema).Errors(values);
  if (!isRight) throw new Error(`the values do not fit the schema: ${JSON.stringify(errors)}`);
}

type Part =
  | { text: string }
  | { show: string }
  | { block: "if" | "with" | "range"; of: string; parts: Part[]; otherwise: Part[] };

/** White space before `{{-` and after `-}}` belongs to the action. */
function partsOf(template: string, defined: Map<string, Part[]>): Part[] {
  const tokens = template
    .replace(/\s*\{\{-\s/g, "{{ ")
    .replace(/\s-\}\}\s*/g, " }}")
    .split(/(\{\{.*?\}\})/s);
  const read = (ends: RegExp): { parts: Part[]; end: string } => {
    const parts: Part[] = [];
    for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
      if (!token.startsWith("{{")) {
        parts.push({ text: token });
        continue;
      }
      const action = token.slice(2, -2).trim();
      if (ends.test(action)) return { parts, end: action };
      const [, word = "", of = ""] = /^(if|with|range|define)\s+(.*)$/s.exec(action) ?? [];
      if (word === "define") defined.set(JSON.parse(of), read(/^end$/).parts);
      else if (word === "") parts.push({ show: action });
      else {
        const then = read(/^(else|end)$/);
        const otherwise = then.end === "else" ? read(/^end$/).parts : [];
        parts.push({ block: word as "if", of, parts: then.parts, otherwise });
      }
    }
    return { parts, end: "" };
  };
  return read(/^$/).parts;
}

interface Scope {
  root: Json;
  dot: Json;
  variables: Record<string, Json>;
  defined: Map<string, Part[]>;
}

const render = (parts: readonly Part[], scope: Scope): string =>
  parts
    .map((part) => {
      if ("text" in part) return part.text;
      if ("show" in part) return String(resultOf(part.show, scope));
      return renderBlock(part, scope);
    })
    .join("");

function renderBlock({ block, of, parts, otherwise }: Extract<Part, { block: string }>, scope: Scope): string {
  if (block !== "range") {
    const value = resultOf(of, scope);
    if (!isSet(value)) return render(otherwise, scope);
    return render(parts, block === "with" ? { ...scope, dot: value } : scope);
  }
  const [, name, value, list = ""] = /^\$(\w+), \$(\w+) := (.*)$/.exec(of) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not understood: range ${of}`);
  return Object.entries(resultOf(list, scope))
    .sort()
    .map(([key, each]) => render(parts, { ...scope, variables: { ...scope.variables, [name]: key, [value]: each } }))
    .join("");
}

const isSet = (value: Json): boolean =>
  typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);

const functions: Record<string, (scope: Scope, ...given: Json[]) => Json> = {
  add: (_, one, other) => one + other,
  eq: (_, one, other) => one === other,
  include: (scope, name, dot) => {
    const parts = scope.defined.get(name);
    if (!parts) throw new Error(`there is no template ${name}`);
    return render(parts, { ...scope, dot }).trim();
  },
  int: (_, value) => Math.trunc(Number(value)),
  nindent: (_, count, text) => `\n${String(text).replace(/^(?=.)/gm, " ".repeat(count))}`,
  quote: (_, value) => JSON.stringify(String(value)),
  sha256sum: (_, text) => createHash("sha256").update(text).digest("hex"),
  toJson: (_, value) => JSON.stringify(value),
  toYaml: (_, value) => stringify(value).trimEnd(),
};

/** Of a pipeline: what one gives is the last argument of the next. */
function resultOf(pipeline: string, scope: Scope): Json {
  let piped: Json[] = [];
  for (const call of pipeline.split("|")) {
    const words = call.trim().match(/\([^()]*\)|"[^"]*"|[^\s()]+/g) ?? [];
    const [first = ""] = words;
    const given = functions[first];
    const terms = (given ? words.slice(1) : words).map((word) => termOf(word, scope));
    if (!given && terms.length + piped.length !== 1) throw new Error(`not understood: ${pipeline}`);
    piped = [given ? given(scope, ...terms, ...piped) : terms[0]];
  }
  return piped[0];
}

function termOf(word: string, scope: Scope): Json {
  if (word.startsWith("(")) return resultOf(word.slice(1, -1), scope);
  if (/^("|[0-9])/.test(word)) return JSON.parse(word);
  const [head = "", ...names] = word.split(".");
  if (head !== "" && !(head.startsWith("$") && head.slice(1) in scope.variables))
    throw new Error(`not understood: ${word}`);
  const start = head === "" ? scope.dot : scope.variables[head.slice(1)];
  return names
    .filter((name) => name !== "")
    .reduce((object, name) => {
      if (object?.[name] === undefined) throw new Error(`there is no value ${word}`);
      return object[name];
    }, start);
}
