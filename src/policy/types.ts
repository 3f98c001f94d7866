/**
 * How two strings are compared. EVM hexadecimal means the same in either case: `hex` is for values that are always hexadecimal
 * (`eth.tx.to`, `eth.tx.data` and slices of it), `prefixed-hex` for those that are if both sides begin with `0x` (an address of any chain,
 * an argument of a contract call). All other strings are compared character by character.
 */
export type LetterCase = "exact" | "hex" | "prefixed-hex";

/** The static type of an expression. `argument` is dynamic: its type is known only when the policy is evaluated. */
export type Type =
  | { kind: "bool" }
  | { kind: "int" }
  | { kind: "uint" }
  /** An `int` or a `uint`: an element of a list that has both. */
  | { kind: "integer" }
  | { kind: "string"; letterCase: LetterCase }
  | { kind: "timestamp" }
  | { kind: "list"; element: Type }
  | { kind: "map"; value: Type }
  | StructType
  | { kind: "argument"; letterCase: LetterCase }
  /** The element of an empty list. */
  | { kind: "nothing" };

/** `aliases` are alternative names of fields: alias -> field. */
export interface StructType {
  kind: "struct";
  name: string;
  fields: Readonly<Record<string, Type>>;
  aliases: Readonly<Record<string, string>>;
}

export const BOOL = { kind: "bool" } as const satisfies Type;
export const INT = { kind: "int" } as const satisfies Type;
export const UINT = { kind: "uint" } as const satisfies Type;
export const INTEGER = { kind: "integer" } as const satisfies Type;
export const STRING = { kind: "string", letterCase: "exact" } as const satisfies Type;
export const HEX = { kind: "string", letterCase: "hex" } as const satisfies Type;
export const ADDRESS = { kind: "string", letterCase: "prefixed-hex" } as const satisfies Type;
export const TIMESTAMP = { kind: "timestamp" } as const satisfies Type;
export const ARGUMENT = { kind: "argument", letterCase: "exact" } as const satisfies Type;
export const EVM_ARGUMENT = { kind: "argument", letterCase: "prefixed-hex" } as const satisfies Type;
export const NOTHING = { kind: "nothing" } as const satisfies Type;

export const list = (element: Type): Type => ({ kind: "list", element });
export const map = (value: Type): Type => ({ kind: "map", value });
export const struct = (
  name: string,
  fields: Record<string, Type>,
  aliases: Record<string, string> = {},
): StructType => ({ kind: "struct", name, fields, aliases });

/** The type's name in messages. */
export function typeName(type: Type): string {
  switch (type.kind) {
    case "list":
      return type.element.kind === "nothing" ? "empty list" : `list<${typeName(type.element)}>`;
    case "map":
      return `map<string, ${typeName(type.value)}>`;
    case "struct":
      return type.name;
    default:
      return type.kind;
  }
}

export const isInteger = (type: Type): boolean => ["int", "uint", "integer"].includes(type.kind);

/** Whether a value of the type is accepted as `kind`. An argument is accepted, and checked at evaluation. */
export const canBe = (type: Type, kind: "bool" | "integer" | "string" | "list"): boolean =>
  type.kind === "argument" || (kind === "integer" ? isInteger(type) : type.kind === kind);

/** The type that includes all values of both, or undefined. */
export function unify(a: Type, b: Type): Type | undefined {
  if (a.kind === "nothing") return b;
  if (b.kind === "nothing") return a;
  if (a.kind === "argument" || b.kind === "argument") return { kind: "argument", letterCase: letterCaseOf(a, b) };
  if (isInteger(a) && isInteger(b)) return a.kind === b.kind ? a : INTEGER;
  if (a.kind === "string" && b.kind === "string") {
    return { kind: "string", letterCase: letterCaseOf(a, b) };
  }
  if (a.kind === "list" && b.kind === "list") {
    const element = unify(a.element, b.element);
    return element && list(element);
  }
  if (a.kind === "struct" && b.kind === "struct") return a.name === b.name ? a : undefined;
  if (a.kind === "map" && b.kind === "map") {
    const value = unify(a.value, b.value);
    return value && map(value);
  }
  return a.kind === b.kind ? a : undefined;
}

/** How values of the two types are compared as strings. */
export function letterCaseOf(a: Type, b: Type): LetterCase {
  const cases = [a, b].map((type) => ("letterCase" in type ? type.letterCase : "exact"));
  if (cases.includes("hex")) return "hex";
  return cases.includes("prefixed-hex") ? "prefixed-hex" : "exact";
}

/** Whether `==` is defined for the two types. */
export function areComparable(a: Type, b: Type): boolean {
  const scalars = [a, b].every((type) =>
    ["bool", "int", "uint", "integer", "string", "timestamp", "argument"].includes(type.kind),
  );
  if (!scalars) return false;
  if (a.kind === "argument" || b.kind === "argument") return a.kind !== "timestamp" && b.kind !== "timestamp";
  return unify(a, b) !== undefined;
}

/** Whether `<` is defined for the two types. */
export function areOrdered(a: Type, b: Type): boolean {
  const ordered = [a, b].every((type) => ["int", "uint", "integer", "timestamp", "argument"].includes(type.kind));
  return ordered && areComparable(a, b);
}
