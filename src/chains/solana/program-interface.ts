import { createHash } from "node:crypto";
import { toHex } from "../../kernel/bytes.ts";
import { printable } from "../../kernel/json.ts";
import { MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";
import { type JsonObject, ownValue, parsePayload, type Refuse, refusalOf } from "../evm/payload.ts";
import { type BorshValue, decodeArguments } from "./borsh.ts";
import {
  checkDefinitions,
  checkName,
  checkNames,
  checkReferences,
  listOf,
  type NamedField,
  nameOf,
  objectOf,
  parseDefinitions,
  parseNamedFields,
  type TypeDefinitions,
} from "./interface-types.ts";

type Instruction = {
  readonly name: string;
  /** The beginning of the instruction's data, lowercase hex. */
  readonly discriminator: string;
  /** In the order of the instruction's accounts; those in a group are named `group.account`. */
  readonly accounts: readonly string[];
  readonly arguments: readonly NamedField[];
};

/** The instructions of a program: a validated Anchor IDL, without everything that does not concern instructions. */
export type ProgramInterface = {
  readonly instructions: readonly Instruction[];
  readonly definitions: TypeDefinitions;
};

export type DecodedInstruction = {
  instruction_name: string;
  discriminator: string;
  named_accounts: Readonly<Record<string, string>>;
  program_call_args: Readonly<Record<string, BorshValue>>;
};

/** The length of a discriminator that is derived from the instruction's name. */
const DERIVED_DISCRIMINATOR_LENGTH = 8;

/**
 * Parses the JSON text of an Anchor IDL, in the form from before or since Anchor 0.30. Only `instructions` and `types` are read. `field`
 * names the request's field in errors.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function parseProgramInterface(json: string, field: string): ProgramInterface {
  const refuse = refusalOf(field, "Anchor IDL");
  if (Buffer.byteLength(json) > MAX_SMART_CONTRACT_INTERFACE_BYTES) {
    refuse("it", `is longer than ${MAX_SMART_CONTRACT_INTERFACE_BYTES} bytes`);
  }
  const idl = parsePayload(json, refuse);
  const definitions = parseDefinitions(ownValue(idl, "types"), refuse);
  checkDefinitions(definitions, refuse);
  const instructions = listOf(ownValue(idl, "instructions"), "instructions", refuse).map((each, index) =>
    parseInstruction(objectOf(each, `instructions[${index}]`, refuse), `instructions[${index}]`, definitions, refuse),
  );
  checkNames(instructions, "instructions", refuse);
  checkDiscriminators(instructions, refuse);
  checkAccountNames(instructions, refuse);
  return { instructions, definitions };
}

function parseInstruction(
  instruction: JsonObject,
  place: string,
  definitions: TypeDefinitions,
  refuse: Refuse,
): Instruction {
  const name = nameOf(instruction, place, refuse);
  const accounts = parseAccounts(ownValue(instruction, "accounts"), `${place}.accounts`, "", refuse);
  checkNames(
    accounts.map((account) => ({ name: account })),
    `${place}.accounts`,
    refuse,
  );
  const fields = parseNamedFields(ownValue(instruction, "args"), `${place}.args`, refuse);
  checkReferences(fields, `${place}.args`, definitions, refuse);
  const given = ownValue(instruction, "discriminator");
  const discriminator =
    given === undefined ? deriveDiscriminator(name) : parseDiscriminator(given, `${place}.discriminator`, refuse);
  return { name, discriminator, accounts, arguments: fields };
}

/** The names of accounts in their order, including those in groups, prefixed with the surrounding `group`. */
function parseAccounts(value: unknown, place: string, group: string, refuse: Refuse): string[] {
  return listOf(value, place, refuse).flatMap((each, index) => {
    const account = objectOf(each, `${place}[${index}]`, refuse);
    const own = nameOf(account, `${place}[${index}]`, refuse);
    const name = group === "" ? own : checkName(`${group}.${own}`, place, refuse);
    const members = ownValue(account, "accounts");
    return members === undefined ? [name] : parseAccounts(members, `${place}[${index}].accounts`, name, refuse);
  });
}

/** A group's name occurs once in the JSON, but in the name of each of its accounts, so the total length is limited. */
function checkAccountNames(instructions: readonly Instruction[], refuse: Refuse): void {
  let length = 0;
  for (const { accounts } of instructions) for (const name of accounts) length += name.length;
  if (length > MAX_SMART_CONTRACT_INTERFACE_BYTES) {
    const limit = MAX_SMART_CONTRACT_INTERFACE_BYTES;
    refuse("instructions", `have names of accounts, with their groups, of more than ${limit} characters together`);
  }
}

function parseDiscriminator(value: unknown, place: string, refuse: Refuse): string {
  const bytes = listOf(value, place, refuse);
  const isByte = (each: unknown) => typeof each === "number" && Number.isInteger(each) && each >= 0 && each <= 0xff;
  if (bytes.length === 0 || !bytes.every(isByte)) refuse(place, "must be a list of bytes that is not empty");
  return toHex(Uint8Array.from(bytes as number[]));
}

/** Anchor's default for an instruction without a discriminator: the beginning of the hash of its name in Rust. */
function deriveDiscriminator(name: string): string {
  const rustName = name.replace(/(?<=[^_])(?=[A-Z])/g, "_").toLowerCase();
  // By OpenSSL, because an interface may have 9,000 instructions.
  const hash = createHash("sha256").update(`global:${rustName}`).digest("hex");
  return hash.slice(0, 2 * DERIVED_DISCRIMINATOR_LENGTH);
}

/** No discriminator may be a prefix of another, because data could then match two instructions. */
function checkDiscriminators(instructions: readonly Instruction[], refuse: Refuse): void {
  const sorted = instructions.toSorted(({ discriminator: a }, { discriminator: b }) => Number(a > b) - Number(a < b));
  for (const [index, { name, discriminator }] of sorted.entries()) {
    // In sorted order, a text is followed directly by those that begin with it.
    const next = sorted[index + 1];
    if (next?.discriminator.startsWith(discriminator)) {
      refuse("instructions", `has discriminators of "${printable(name)}" and "${printable(next.name)}" that clash`);
    }
  }
}

/**
 * Decodes an instruction's data and names its accounts; `accountKeys` are its accounts in order. Undefined if no instruction of the
 * interface has such data, or if there are fewer accounts than it names: the program would reject it, or is not the one that the interface
 * describes. Accounts after the named ones are omitted.
 */
export function decodeInstruction(
  { instructions, definitions }: ProgramInterface,
  data: Uint8Array,
  accountKeys: readonly string[],
): DecodedInstruction | undefined {
  const hex = toHex(data);
  const instruction = instructions.find(({ discriminator }) => hex.startsWith(discriminator));
  if (instruction === undefined || accountKeys.length < instruction.accounts.length) return undefined;
  const { name, discriminator, accounts } = instruction;
  const values = decodeArguments(data.subarray(discriminator.length / 2), instruction.arguments, definitions);
  if (values === undefined) return undefined;
  return {
    instruction_name: name,
    discriminator,
    named_accounts: Object.fromEntries(
      accountKeys.slice(0, accounts.length).map((key, index) => [accounts[index], key]),
    ),
    program_call_args: values,
  };
}
