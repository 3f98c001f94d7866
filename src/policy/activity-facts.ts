import { OTP_LENGTHS } from "../kernel/limits.ts";
import type { Budget } from "./budget.ts";
import type { ActivityFacts } from "./facts.ts";
import { activityParams, sparkKeyDerivation } from "./schema.ts";
import type { StructType, Type } from "./types.ts";

/** What a parameter that a request leaves out comes to, where that is not the empty text. */
const unlessSaid: Readonly<Record<string, number>> = { otp_length: OTP_LENGTHS.unlessSaid };

/** What it is worth to read one member of what is nested in a request; a request may have tens of thousands. */
const STEPS_FOR_A_MEMBER = 4;

/**
 * What conditions see of an activity by itself; `params` under the names that the language has for its type.
 *
 * @throws OutOfBudget where what is nested has more members than there are `steps` for
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

/** What stands in a request, as the language has it: whatever is left out reads as empty or zero. */
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

/** The name of the one key that a derivation names; empty where it names none. */
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

/** The fields of a struct with what requests call them, worked out once: there are few structs, and many of each in a request. */
function fieldsOf(struct: StructType): readonly Field[] {
  const fields =
    known.get(struct) ??
    Object.entries(struct.fields).map(([field, type]) => ({ field, member: camelCase(field), type }));
  known.set(struct, fields);
  return fields;
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
