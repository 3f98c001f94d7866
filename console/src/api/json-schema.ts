/** JSON Schemas of operations, as far as the server's OpenAPI document uses them, and what a form needs to know of them. */

export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
}

/** Named schemas of the document, by their names. */
export type Components = Readonly<Record<string, Schema>>;

/** What is nested more deeply than this is typed as JSON, so that a schema that contains itself comes to an end. */
export const MAX_FORM_DEPTH = 6;
/** How many items of a list have fields of their own; the others stand in the JSON. */
export const MAX_FORM_ITEMS = 50;
const MAX_REFS = 10;
const MAX_STARTED_ITEMS = 5;

/** The schema that a reference stands for; one that leads nowhere says nothing. */
export function resolved(schema: Schema, components: Components): Schema {
  let found = schema;
  for (let refs = 0; found.$ref !== undefined; refs++) {
    const name = found.$ref.split("/").at(-1) ?? "";
    if (refs === MAX_REFS || !Object.hasOwn(components, name)) return {};
    found = components[name] as Schema;
  }
  return found;
}

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What a schema's field is: how it is shown, and which values it can show. */
export type FieldKind = "choice" | "variants" | "text" | "number" | "boolean" | "list" | "object" | "json";

export function kindOf(schema: Schema): FieldKind {
  if (schema.enum || "const" in schema) return valuesOf(schema).every(isText) ? "choice" : "json";
  if (schema.anyOf || schema.oneOf) return "variants";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return schema.items ? "list" : "json";
    case "object":
      return schema.properties ? "object" : "json";
    default:
      return "json";
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

const valuesOf = (schema: Schema): readonly unknown[] => schema.enum ?? [schema.const];

/** The values of a choice. */
export const choicesOf = (schema: Schema): readonly string[] => valuesOf(schema).filter(isText);

export const variantsOf = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [];

/** Whether a field of this schema can show the value; of one that it cannot, the JSON is shown. */
export function canShow(schema: Schema, value: unknown): boolean {
  if (value === undefined) return true;
  switch (kindOf(schema)) {
    case "list":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "boolean":
      return typeof value === "boolean";
    case "choice":
    case "text":
      return isText(value);
    // Text is what was typed and is no number yet.
    case "number":
      return isText(value) || typeof value === "number";
    default:
      return true;
  }
}

/** What a value is that was just begun: what must be there, and nothing else. */
export function startOf(given: Schema, components: Components, depth = 0): unknown {
  const schema = resolved(given, components);
  switch (kindOf(schema)) {
    case "choice":
      return choicesOf(schema)[0];
    case "variants":
      return depth > MAX_FORM_DEPTH ? null : startOf(variantsOf(schema)[0] ?? {}, components, depth + 1);
    case "text":
      return "";
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return false;
    case "list": {
      const length = depth > MAX_FORM_DEPTH ? 0 : Math.min(schema.minItems ?? 0, MAX_STARTED_ITEMS);
      return Array.from({ length }, () => startOf(schema.items ?? {}, components, depth + 1));
    }
    case "object": {
      const names = depth > MAX_FORM_DEPTH ? [] : (schema.required ?? []);
      return Object.fromEntries(
        names.map((name) => [name, startOf(schema.properties?.[name] ?? {}, components, depth + 1)]),
      );
    }
    case "json":
      return schema.type === "array" ? [] : schema.type === "object" ? {} : null;
  }
}

/** The value without a member, or with another one in its place. */
export function withMember(value: JsonObject, name: string, member: unknown): JsonObject {
  const others = Object.entries(value).filter(([each]) => each !== name);
  if (member === undefined) return Object.fromEntries(others);
  return Object.hasOwn(value, name)
    ? Object.fromEntries(Object.entries(value).map(([each, old]) => [each, each === name ? member : old]))
    : Object.fromEntries([...others, [name, member]]);
}

/** A number where the text is exactly one as JSON writes it; otherwise the text, so that `1.` can become `1.5`. */
export function numberTyped(text: string): number | string {
  const number = Number(text);
  return text !== "" && Number.isFinite(number) && String(number) === text ? number : text;
}

/** What is wrong with the value itself, not with what it contains; undefined where nothing is. */
export function problemOfValue(given: Schema, value: unknown, components: Components): string | undefined {
  const schema = resolved(given, components);
  if (value === undefined) return "This is required.";
  switch (kindOf(schema)) {
    case "choice":
      return choicesOf(schema).includes(value as string) ? undefined : "This is not one of the known values.";
    case "variants":
      return undefined;
    case "text":
      return isText(value) ? problemOfText(schema, value) : "This must be text.";
    case "number":
      return problemOfNumber(schema, value);
    case "boolean":
      return typeof value === "boolean" ? undefined : "This must be true or false.";
    case "list":
      return Array.isArray(value) ? problemOfCount(schema, value.length) : "This must be a list.";
    case "object":
      return isObject(value) ? problemOfNames(schema, value) : "This must be an object.";
    case "json":
      return undefined;
  }
}

function problemOfText({ minLength = 0, maxLength, pattern, description }: Schema, text: string): string | undefined {
  if (text === "" && minLength > 0) return "This is required.";
  if (text.length < minLength) return `This must have at least ${minLength} characters.`;
  if (maxLength !== undefined && text.length > maxLength) return `This must have at most ${maxLength} characters.`;
  if (pattern === undefined || new RegExp(pattern, "u").test(text)) return undefined;
  return `This must be ${description ?? `a text that matches ${pattern}`}.`;
}

function problemOfNumber({ type, minimum, maximum }: Schema, value: unknown): string | undefined {
  const isNumber = typeof value === "number" && (type !== "integer" || Number.isInteger(value));
  if (!isNumber) return type === "integer" ? "This must be a whole number." : "This must be a number.";
  if (minimum !== undefined && value < minimum) return `This must be at least ${minimum}.`;
  if (maximum !== undefined && value > maximum) return `This must be at most ${maximum}.`;
  return undefined;
}

function problemOfCount({ minItems = 0, maxItems }: Schema, length: number): string | undefined {
  if (length < minItems) return `There must be at least ${minItems}.`;
  if (maxItems !== undefined && length > maxItems) return `There must be at most ${maxItems}.`;
  return undefined;
}

const MAX_NAMES_TOLD = 5;

function problemOfNames({ properties = {}, additionalProperties }: Schema, value: JsonObject): string | undefined {
  if (additionalProperties !== false) return undefined;
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  if (unknown.length === 0) return undefined;
  const told = unknown.slice(0, MAX_NAMES_TOLD).join(", ");
  return `There is no member of this name: ${told}${unknown.length > MAX_NAMES_TOLD ? ", …" : ""}.`;
}

/** Whether a value is as the schema says, all the way down; what is nested too deeply for the form is let pass. */
export function fits(given: Schema, value: unknown, components: Components, depth = 0): boolean {
  if (depth > MAX_FORM_DEPTH) return true;
  const schema = resolved(given, components);
  if (problemOfValue(schema, value, components) !== undefined) return false;
  const fitsIn = (inner: Schema, part: unknown) => fits(inner, part, components, depth + 1);
  switch (kindOf(schema)) {
    case "variants":
      return variantsOf(schema).some((variant) => fitsIn(variant, value));
    case "list":
      return (value as unknown[]).every((item) => fitsIn(schema.items ?? {}, item));
    case "object": {
      const { properties = {}, required = [] } = schema;
      return Object.entries(properties).every(([name, member]) => {
        const part = memberOf(value as JsonObject, name);
        return part === undefined ? !required.includes(name) : fitsIn(member, part);
      });
    }
    default:
      return true;
  }
}

/** Of its own members alone. */
export const memberOf = (value: JsonObject | undefined, name: string): unknown =>
  value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined;

/** What tells a variant from the others: a constant of its own, or else the members that it must have. */
export function variantName(given: Schema, components: Components): string {
  const schema = resolved(given, components);
  const { description, properties = {}, required = [], type } = schema;
  if (description !== undefined) return description;
  const constants = Object.values(properties).flatMap((member) => {
    const values = kindOf(member) === "choice" ? choicesOf(member) : [];
    return values.length === 1 ? values : [];
  });
  if (constants.length > 0) return constants.join(", ");
  return required.length > 0 ? `with ${required.join(", ")}` : (type ?? "anything");
}
