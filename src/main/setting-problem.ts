import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { inWords } from "../kernel/in-words.ts";

/** The parts of a schema that this file reads. */
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
 * The problem with a setting's value, and what would be valid; undefined if there is none. The text has the full path of a nested member, but
 * never the value, which may be a passphrase or contain a password.
 */
export function settingProblem(name: string, schema: TSchema, value: unknown): string | undefined {
  const validator = Compile(schema);
  if (validator.Check(value)) return undefined;
  const errors = validator.Errors(value);
  // Unknown names come first, because a misspelled name also causes an error about the missing right one.
  const problem = errors.find(({ keyword }) => keyword === "additionalProperties") ?? errors[0];
  if (problem === undefined) return "is not valid";
  const { instancePath, schemaPath, message } = problem;
  const within = [name, ...partsOf(instancePath)].join(".");
  if (problem.keyword === "additionalProperties") {
    const known = Object.keys(schemaAt(schema, schemaPath)?.properties ?? {});
    const [unknown] = problem.params.additionalProperties;
    return `\`${within}.${unknown}\` is unknown; the known ones are ${known.join(", ")}`;
  }
  const fitting = fits(schemaAt(schema, schemaPath.replace(/\/anyOf\/\d+$/, "")));
  const text = fitting === undefined ? message : `must be ${fitting}`;
  return instancePath === "" ? text : `\`${within}\` ${text}`;
}

/** The parts of a JSON pointer (RFC 6901). */
const partsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const schemaAt = (schema: TSchema, path: string): Schema | undefined =>
  partsOf(path).reduce<Schema | undefined>((at, part) => at?.[part] as Schema | undefined, schema as Schema);

/** What a schema accepts, if that can be said in a few words. This covers everything that an operator is likely to get wrong. */
function fits(schema: Schema | undefined): string | undefined {
  if (schema?.enum) return `one of ${schema.enum.join(", ")}`;
  if (schema?.anyOf) {
    const each = schema.anyOf.map(fits);
    return each.every((words) => words !== undefined) ? inWords(each, "or") : undefined;
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

/** The position at which a text is invalid JSON, without quoting the text there. */
export function placeInJson(text: string, { message }: Error): string {
  const told = /\((line \d+ column \d+)\)/.exec(message)?.[1];
  if (told !== undefined) return told;
  // The message for an unexpected token has no position, so find the first line whose addition causes it; no token spans lines.
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
