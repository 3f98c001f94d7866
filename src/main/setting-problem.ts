import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { inWords } from "../kernel/in-words.ts";

/** What `describe` needs of a schema. */
interface Schema {
  type?: string;
  minimum?: number;
  maximum?: number;
  enum?: readonly string[];
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  [part: string]: unknown;
}

/**
 * What is wrong with the value of a setting, with the full path where that is in the middle of it, and what would fit; undefined
 * where nothing is. The value stays out of the text: it may be a passphrase or hold a password.
 */
export function settingProblem(name: string, schema: TSchema, value: unknown): string | undefined {
  const validator = Compile(schema);
  if (validator.Check(value)) return undefined;
  const errors = validator.Errors(value);
  // Before others: whoever misspells a name misses the right one as well.
  const problem = errors.find(({ keyword }) => keyword === "additionalProperties") ?? errors[0];
  if (problem === undefined) return "does not fit";
  const { instancePath, schemaPath, message } = problem;
  const within = [name, ...partsOf(instancePath)].join(".");
  if (problem.keyword === "additionalProperties") {
    const known = Object.keys(schemaAt(schema, schemaPath)?.properties ?? {});
    const [unknown] = problem.params.additionalProperties;
    return `\`${within}.${unknown}\` is unknown; known are ${known.join(", ")}`;
  }
  const fitting = fits(schemaAt(schema, schemaPath.replace(/\/anyOf\/\d+$/, "")));
  const text = fitting === undefined ? message : `must be ${fitting}`;
  return instancePath === "" ? text : `\`${within}\` ${text}`;
}

/** Of a JSON pointer (RFC 6901). */
const partsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const schemaAt = (schema: TSchema, path: string): Schema | undefined =>
  partsOf(path).reduce<Schema | undefined>((at, part) => at?.[part] as Schema | undefined, schema as Schema);

/** What can be said in a few words, as all can that an operator is likely to get wrong. */
function fits(schema: Schema | undefined): string | undefined {
  if (schema?.enum) return `one of ${schema.enum.join(", ")}`;
  if (schema?.anyOf) {
    const each = schema.anyOf.map(fits);
    return each.includes(undefined) ? undefined : inWords(each as string[], "or");
  }
  if (schema?.type === "boolean") return "true or false";
  if (schema?.type === "null") return "null";
  if (schema?.type !== "integer" && schema?.type !== "number") return undefined;
  const { minimum, maximum } = schema;
  const range = [
    ...(minimum === undefined ? [] : [`from ${minimum}`]),
    ...(maximum === undefined ? [] : [`${minimum === undefined ? "up " : ""}to ${maximum}`]),
  ];
  return [schema.type === "integer" ? "an integer" : "a number", ...range].join(" ");
}

/** Where a text stops being JSON. What is there is not repeated. */
export function placeInJson(text: string, { message }: Error): string {
  const told = /\((line \d+ column \d+)\)/.exec(message)?.[1];
  if (told !== undefined) return told;
  // Of a token that is none it is not told. No token goes over the end of a line.
  const lines = text.split("\n");
  const line = lines.findIndex((_, index) => hasBadToken(lines.slice(0, index + 1).join("\n")));
  return line === -1 ? "its end" : `line ${line + 1}`;
}

function hasBadToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return (error as Error).message.startsWith("Unexpected token");
  }
}
