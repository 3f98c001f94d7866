import { printable } from "../../kernel/json.ts";
import { MAX_LABEL_LENGTH } from "../../kernel/limits.ts";
import { isJsonObject, type JsonObject, ownValue, type Refuse } from "../evm/payload.ts";

/** A type as named in an interface. */
export type BorshType =
  | { readonly kind: "bool" | "bytes" | "string" | "pubkey" }
  | { readonly kind: "integer"; readonly signed: boolean; readonly bytes: number }
  | { readonly kind: "vec" | "option" | "coption"; readonly item: BorshType }
  | { readonly kind: "array"; readonly item: BorshType; readonly length: number }
  | { readonly kind: "tuple"; readonly items: readonly BorshType[] }
  | { readonly kind: "defined"; readonly name: string }
  /** Floats, maps, sets and generics: data that contains one is not decoded. */
  | { readonly kind: "unsupported" };

export type NamedField = { readonly name: string; readonly type: BorshType };

/** The fields of a struct or of an enum's variant: named, or a tuple. */
export type Fields =
  | { readonly kind: "named"; readonly fields: readonly NamedField[] }
  | { readonly kind: "tuple"; readonly items: readonly BorshType[] };

export type TypeDefinition =
  | { readonly kind: "struct"; readonly fields: Fields }
  | { readonly kind: "enum"; readonly variants: readonly { readonly name: string; readonly fields?: Fields }[] }
  | { readonly kind: "alias"; readonly type: BorshType }
  | { readonly kind: "unsupported" };

export type TypeDefinitions = ReadonlyMap<string, TypeDefinition>;

/** One shared object for each, however often an interface names it. */
const PLAIN = new Map<string, BorshType>([
  ...[1, 2, 4, 8, 16, 32].flatMap((bytes): [string, BorshType][] => [
    [`u${8 * bytes}`, { kind: "integer", signed: false, bytes }],
    [`i${8 * bytes}`, { kind: "integer", signed: true, bytes }],
  ]),
  ["bool", { kind: "bool" }],
  ["bytes", { kind: "bytes" }],
  ["string", { kind: "string" }],
  ["pubkey", { kind: "pubkey" }],
  // The spelling in interfaces from before Anchor 0.30.
  ["publicKey", { kind: "pubkey" }],
  ["f32", { kind: "unsupported" }],
  ["f64", { kind: "unsupported" }],
]);
const UNSUPPORTED_CONTAINERS = new Set(["hashMap", "bTreeMap", "hashSet", "bTreeSet", "generic"]);

export function listOf(value: unknown, place: string, refuse: Refuse): readonly unknown[] {
  if (value === undefined) return refuse(place, "is missing");
  return Array.isArray(value) ? value : refuse(place, "must be a list");
}

export function objectOf(value: unknown, place: string, refuse: Refuse): JsonObject {
  return isJsonObject(value) ? value : refuse(place, "must be an object");
}

export function nameOf(object: JsonObject, place: string, refuse: Refuse): string {
  return checkName(ownValue(object, "name"), `${place}.name`, refuse);
}

export function checkName(name: unknown, place: string, refuse: Refuse): string {
  if (typeof name === "string" && name.length > 0 && name.length <= MAX_LABEL_LENGTH) return name;
  return refuse(place, `must be a text of 1 to ${MAX_LABEL_LENGTH} characters`);
}

/** Rejects duplicate names in a list, because a second item could be mistaken for the first. */
export function checkNames(items: readonly { readonly name: string }[], place: string, refuse: Refuse): void {
  const names = new Set<string>();
  for (const { name } of items) {
    if (names.has(name)) refuse(place, `has "${printable(name)}" twice`);
    names.add(name);
  }
}

/** The `types` of an interface by name. */
export function parseDefinitions(value: unknown, refuse: Refuse): TypeDefinitions {
  const definitions = listOf(value, "types", refuse).map((each, index) => {
    const place = `types[${index}]`;
    const definition = objectOf(each, place, refuse);
    return { name: nameOf(definition, place, refuse), definition: parseDefinition(definition, place, refuse) };
  });
  checkNames(definitions, "types", refuse);
  return new Map(definitions.map(({ name, definition }) => [name, definition]));
}

function parseDefinition(definition: JsonObject, place: string, refuse: Refuse): TypeDefinition {
  const type = objectOf(ownValue(definition, "type"), `${place}.type`, refuse);
  const { serialization = "borsh", generics = [] } = definition;
  const parsed = parseShape(type, `${place}.type`, refuse);
  const isPlainBorsh = serialization === "borsh" && Array.isArray(generics) && generics.length === 0;
  return isPlainBorsh ? parsed : { kind: "unsupported" };
}

function parseShape(type: JsonObject, place: string, refuse: Refuse): TypeDefinition {
  switch (ownValue(type, "kind")) {
    case "struct":
      return { kind: "struct", fields: parseFields(ownValue(type, "fields") ?? [], `${place}.fields`, refuse) };
    case "enum":
      return { kind: "enum", variants: parseVariants(ownValue(type, "variants"), `${place}.variants`, refuse) };
    case "alias":
      return { kind: "alias", type: parseType(ownValue(type, "value"), `${place}.value`, refuse) };
    case "type":
      return { kind: "alias", type: parseType(ownValue(type, "alias"), `${place}.alias`, refuse) };
    default:
      return refuse(`${place}.kind`, "must be struct, enum, alias or type");
  }
}

function parseVariants(value: unknown, place: string, refuse: Refuse) {
  const variants = listOf(value, place, refuse).map((each, index) => {
    const variant = objectOf(each, `${place}[${index}]`, refuse);
    const name = nameOf(variant, `${place}[${index}]`, refuse);
    const fields = ownValue(variant, "fields");
    if (fields === undefined || fields === null) return { name };
    return { name, fields: parseFields(fields, `${place}[${index}].fields`, refuse) };
  });
  checkNames(variants, place, refuse);
  return variants;
}

function parseFields(value: unknown, place: string, refuse: Refuse): Fields {
  const list = listOf(value, place, refuse);
  const isNamed = list.every((each) => isJsonObject(each) && Object.hasOwn(each, "name"));
  if (isNamed) return { kind: "named", fields: parseNamedFields(list, place, refuse) };
  return { kind: "tuple", items: list.map((each, index) => parseType(each, `${place}[${index}]`, refuse)) };
}

export function parseNamedFields(value: unknown, place: string, refuse: Refuse): readonly NamedField[] {
  const fields = listOf(value, place, refuse).map((each, index) => {
    const field = objectOf(each, `${place}[${index}]`, refuse);
    const name = nameOf(field, `${place}[${index}]`, refuse);
    return { name, type: parseType(ownValue(field, "type"), `${place}[${index}].type`, refuse) };
  });
  checkNames(fields, place, refuse);
  return fields;
}

function parseType(value: unknown, place: string, refuse: Refuse): BorshType {
  if (value === undefined) return refuse(place, "is missing");
  if (typeof value === "string") return parsePlainType(value, place, refuse);
  const [container, ...others] = Object.keys(objectOf(value, place, refuse));
  if (container === undefined || others.length > 0) return refuse(place, "must have exactly one key, such as vec");
  return parseContainer(
    container,
    ownValue(value as JsonObject, container),
    `${place}.${printable(container)}`,
    refuse,
  );
}

function parsePlainType(name: string, place: string, refuse: Refuse): BorshType {
  return PLAIN.get(name) ?? refuse(place, `is the unknown type "${printable(name)}"`);
}

function parseContainer(container: string, content: unknown, place: string, refuse: Refuse): BorshType {
  switch (container) {
    case "vec":
    case "option":
    case "coption":
      return { kind: container, item: parseType(content, place, refuse) };
    case "array":
      return parseArray(content, place, refuse);
    case "tuple":
      return {
        kind: "tuple",
        items: listOf(content, place, refuse).map((each, index) => parseType(each, `${place}[${index}]`, refuse)),
      };
    case "defined":
      return parseReference(content, place, refuse);
    default:
      if (UNSUPPORTED_CONTAINERS.has(container)) return { kind: "unsupported" };
      return refuse(place, "is not a kind of type");
  }
}

function parseArray(content: unknown, place: string, refuse: Refuse): BorshType {
  const [item, length, ...others] = listOf(content, place, refuse);
  if (others.length > 0) refuse(place, "must be a type and a length");
  const type = parseType(item, `${place}[0]`, refuse);
  // A length that is a generic parameter of the surrounding type.
  if (isJsonObject(length)) return { kind: "unsupported" };
  if (typeof length !== "number" || !Number.isSafeInteger(length) || length < 0) {
    return refuse(`${place}[1]`, "must be a whole number not below zero");
  }
  return { kind: "array", item: type, length };
}

/** `"Name"` before Anchor 0.30, `{name, generics?}` since. */
function parseReference(content: unknown, place: string, refuse: Refuse): BorshType {
  if (typeof content === "string") return { kind: "defined", name: content };
  const reference = objectOf(content, place, refuse);
  if (ownValue(reference, "generics") !== undefined) return { kind: "unsupported" };
  return { kind: "defined", name: nameOf(reference, place, refuse) };
}

/** Every referenced type must exist. */
export function checkReferences(
  fields: readonly NamedField[],
  place: string,
  definitions: TypeDefinitions,
  refuse: Refuse,
): void {
  for (const { name, type } of fields) {
    for (const reference of referencesOf(type)) {
      if (!definitions.has(reference)) {
        refuse(
          place,
          `names the type "${printable(reference)}" in "${printable(name)}", which \`types\` does not have`,
        );
      }
    }
  }
}

function referencesOf(type: BorshType): readonly string[] {
  switch (type.kind) {
    case "defined":
      return [type.name];
    case "vec":
    case "option":
    case "coption":
    case "array":
      return referencesOf(type.item);
    case "tuple":
      return type.items.flatMap(referencesOf);
    default:
      return [];
  }
}

/** The same for the types themselves. */
export function checkDefinitions(definitions: TypeDefinitions, refuse: Refuse): void {
  for (const [name, definition] of definitions) {
    const types = typesOf(definition).map((type) => ({ name, type }));
    checkReferences(types, "types", definitions, refuse);
  }
}

function typesOf(definition: TypeDefinition): readonly BorshType[] {
  switch (definition.kind) {
    case "struct":
      return typesOfFields(definition.fields);
    case "enum":
      return definition.variants.flatMap(({ fields }) => (fields === undefined ? [] : typesOfFields(fields)));
    case "alias":
      return [definition.type];
    case "unsupported":
      return [];
  }
}

const typesOfFields = (fields: Fields): readonly BorshType[] =>
  fields.kind === "named" ? fields.fields.map(({ type }) => type) : fields.items;
