import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";
import { printable } from "../../kernel/json.ts";
import { MAX_ABI_LISTS, MAX_CONTRACT_FUNCTIONS, MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";
import { type AbiType, type AbiValue, decodeAbi, parseAbiType, signatureOf, tupleOf } from "./abi.ts";
import { isJsonObject, type JsonObject, parseJsonText, type Refuse, refusalOf } from "./payload.ts";

type ContractFunction = {
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly type: AbiType }[];
};

/** The functions of a contract by selector, 0x and eight lowercase hex digits. */
export type ContractInterface = ReadonlyMap<string, ContractFunction>;

/** A call as policies see it. `function_signature` is the selector; unnamed arguments are named by their position. */
export type DecodedCall = {
  readonly function_name: string;
  readonly function_signature: string;
  readonly contract_call_args: Readonly<Record<string, AbiValue>>;
};

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Length of `0x` and a selector. */
const SELECTOR_LENGTH = 10;

/**
 * Parses the JSON ABI of a contract: a list of entries, or an object with that list as `abi`. Only functions are used; the rest is ignored.
 * `field` names the request's field in errors.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function parseContractInterface(json: string, field: string): ContractInterface {
  const refuse = refusalOf(field, "JSON ABI");
  if (Buffer.byteLength(json) > MAX_SMART_CONTRACT_INTERFACE_BYTES) {
    refuse("it", `is longer than ${MAX_SMART_CONTRACT_INTERFACE_BYTES} bytes`);
  }
  refuseManyLists(json, refuse);
  const value = parseJsonText(json, refuse);
  const entries = isJsonObject(value) ? value.abi : value;
  if (!Array.isArray(entries)) return refuse("it", "must be a list of ABI entries, or an object with that as `abi`");
  return readFunctions(entries, isJsonObject(value) ? "abi" : "", refuse);
}

/** An array dimension is two characters in the text and becomes an object of its own, so their number is limited. */
function refuseManyLists(json: string, refuse: Refuse): void {
  let lists = 0;
  for (let at = json.indexOf("["); at !== -1; at = json.indexOf("[", at + 1)) {
    if (++lists > MAX_ABI_LISTS) refuse("it", `has more than ${MAX_ABI_LISTS} lists and array dimensions together`);
  }
}

function readFunctions(entries: readonly unknown[], place: string, refuse: Refuse): ContractInterface {
  const functions = new Map<string, ContractFunction>();
  for (const [index, entry] of entries.entries()) {
    const at = `${place}[${index}]`;
    if (!isJsonObject(entry)) return refuse(at, "must be an object");
    if (!isFunction(entry, at, refuse)) continue;
    const read = readFunction(entry, at, refuse);
    const selector = selectorOf(read);
    const other = functions.get(selector);
    if (other) {
      refuse(
        at,
        `has the selector ${selector} of another function, "${printable(other.name)}": no call tells them apart`,
      );
    }
    functions.set(selector, read);
    if (functions.size > MAX_CONTRACT_FUNCTIONS) refuse("it", `has more than ${MAX_CONTRACT_FUNCTIONS} functions`);
  }
  return functions;
}

/** An entry without `type` is a function (ABI specification, "JSON"). */
function isFunction({ type = "function" }: JsonObject, place: string, refuse: Refuse): boolean {
  return typeof type === "string" ? type === "function" : refuse(`${place}.type`, "must be a string");
}

function readFunction({ name, inputs = [] }: JsonObject, place: string, refuse: Refuse): ContractFunction {
  if (typeof name !== "string" || !IDENTIFIER.test(name)) return refuse(`${place}.name`, "must be an identifier");
  if (!Array.isArray(inputs)) return refuse(`${place}.inputs`, "must be a list of parameters");
  const names = new Set<string>();
  const parameters = inputs.map((input: unknown, index) => {
    const at = `${place}.inputs[${index}]`;
    const type = parseAbiType(input, at, refuse);
    const parameter = nameOf(input as JsonObject, index, at, refuse);
    if (names.has(parameter)) refuse(at, `has the name "${printable(parameter)}" of another parameter`);
    names.add(parameter);
    return { name: parameter, type };
  });
  return { name, parameters };
}

function nameOf({ name = "" }: JsonObject, index: number, place: string, refuse: Refuse): string {
  if (name === "") return String(index);
  return typeof name === "string" && IDENTIFIER.test(name) ? name : refuse(`${place}.name`, "must be an identifier");
}

function selectorOf({ name, parameters }: ContractFunction): string {
  const signature = name + signatureOf(tupleOf(parameters.map(({ type }) => type)));
  return `0x${toHex(keccak_256(Buffer.from(signature)).subarray(0, 4))}`;
}

/**
 * Decodes a call with this data (lowercase 0x hex). Undefined if the interface has no such function, or if the data is not the strict
 * encoding of its arguments.
 */
export function decodeCall(contract: ContractInterface, data: string): DecodedCall | undefined {
  const selector = data.slice(0, SELECTOR_LENGTH);
  const called = contract.get(selector);
  if (called === undefined) return undefined;
  const { name, parameters } = called;
  const bytes = Buffer.from(data.slice(SELECTOR_LENGTH), "hex");
  const values = decodeAbi(
    parameters.map(({ type }) => type),
    bytes,
  );
  if (values === undefined) return undefined;
  return {
    function_name: name,
    function_signature: selector,
    contract_call_args: Object.fromEntries(values.map((value, index) => [parameters[index]?.name ?? "", value])),
  };
}
