import { OTP_LENGTHS } from "../kernel/limits.ts";
import type { Budget } from "./budget.ts";
import type { ActivityFacts } from "./facts.ts";
import { activityParams, sparkKeyDerivation } from "./schema.ts";
import type { StructType, Type } from "./types.ts";

/** Defaults of omitted parameters, if not the empty text. */
const unlessSaid: Readonly<Record<string, number>> = { otp_length: OTP_LENGTHS.unlessSaid };

/** The cost, in steps, of reading one member of nested parameters; a request may have tens of thousands. */
const STEPS_FOR_A_MEMBER = 4;

/**
 * The facts of an activity itself that conditions see; `params` has the names that the language uses for its type.
 *
 * @throws OutOfBudget if nested parameters have more members than there are `steps` for
 */
export function activityFacts(
  type: string,
  { resource, action }: { resource: string; action: string },
  intent: unknown,
  steps?: Budget,
): ActivityFacts {
  const kind = type.replace(/^ACTIVITY_TYPE_/, "").replace(/_V\d+$/, "");
  const members = intent as Record<string, unknown>;
  const params = Object.fromEntries(
    Object.entries(activityParams[type] ?? {}).map(([field, type]) => {
      const value = members[camelCase(field)];
      return [field, value === undefined ? (unlessSaid[field] ?? "") : factOf(type, value, steps)];
    }),
  );
  return { type, kind, resource, action, params };
}

/** Converts a value of a request to the language's form: omitted values read as empty or zero. */
function factOf(type: Type, value: unknown, steps: Budget | undefined): unknown {
  if (type.kind === "struct") {
    const members = membersOf(type, value, steps);
    if (type === sparkKeyDerivation) members.type = derivationType(value);
    return members;
  }
  if (type.kind === "list" && type.element.kind === "struct") {
    return ((value ?? []) as unknown[]).map((element) => factOf(type.element, element, steps));
  }
  return value ?? (type.kind === "int" ? 0 : "");
}

/** The name of the only key that a derivation names; empty if it names none. */
function derivationType(value: unknown): string {
  const members = Object.entries((value ?? {}) as Record<string, unknown>);
  const [name = ""] = members.find(([, member]) => member !== undefined && member !== null) ?? [];
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function membersOf(struct: StructType, value: unknown, steps: Budget | undefined): Record<string, unknown> {
  const members = (value ?? {}) as Record<string, unknown>;
  const fields = fieldsOf(struct);
  steps?.spend(fields.length * STEPS_FOR_A_MEMBER);
  const facts: Record<string, unknown> = {};
  for (const { field, member, type } of fields) facts[field] = factOf(type, members[member], steps);
  return facts;
}

type Field = { field: string; member: string; type: Type };
const known = new Map<StructType, readonly Field[]>();

/** The fields of a struct and their names in requests. Computed once, because there are few structs and many instances of each in a request. */
function fieldsOf(struct: StructType): readonly Field[] {
  const fields =
    known.get(struct) ??
    Object.entries(struct.fields).map(([field, type]) => ({ field, member: camelCase(field), type }));
  known.set(struct, fields);
  return fields;
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
