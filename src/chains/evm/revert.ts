import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { type AbiValue, decodeAbi, parseAbiType, signatureOf, tupleOf } from "./abi.ts";
import { isJsonObject, refusalOf } from "./payload.ts";

/** Decodes why a call reverted, in the form of the API. */

export interface RevertEntry {
  /** The contract that was called; lowercase. */
  address: string;
  errorType: "native" | "custom" | "unknown";
  /** Human-readable. */
  displayMessage: string;
  native?: { nativeType: "error_string" | "panic" | "execution_reverted"; message?: string; panicCode?: string };
  custom?: { errorName: string; paramsJson: string };
  /** Both are 0x hex. */
  unknown?: { selector: string; data: string };
}

/** `Error(string)` and `Panic(uint256)` (Solidity, "Panic via assert and Error via require"). */
const ERROR_STRING = "0x08c379a0";
const PANIC = "0x4e487b71";
const SELECTOR_LENGTH = 10;
const LONGEST_SHOWN = 1000;
const refuse = refusalOf("smartContractInterface", "JSON ABI");
const typeOf = (type: string) => parseAbiType({ type }, "it", refuse);

/** From the table in the same documentation. */
const PANICS: Readonly<Record<string, string>> = {
  "0": "generic panic",
  "1": "assertion failed",
  "17": "arithmetic overflow or underflow",
  "18": "division or modulo by zero",
  "33": "conversion to an enum value that does not exist",
  "34": "storage byte array that is incorrectly encoded",
  "49": "pop on an empty array",
  "50": "array index out of bounds",
  "65": "too much memory allocated",
  "81": "call of a function variable that was never set",
};

/**
 * @param data the revert data, 0x hex
 * @param interfaceJson of the contract, if known: it contains the names of its errors
 */
export function decodeRevert(address: string, data: string, message: string, interfaceJson?: string): RevertEntry {
  const lower = { address: address.toLowerCase() };
  if (data.length < SELECTOR_LENGTH) {
    const shown = shorten(message);
    return {
      ...lower,
      errorType: "native",
      displayMessage: shown,
      native: { nativeType: "execution_reverted", message: shown },
    };
  }
  const selector = data.slice(0, SELECTOR_LENGTH);
  const body = Buffer.from(data.slice(SELECTOR_LENGTH), "hex");
  const named = interfaceJson === undefined ? undefined : customError(selector, body, interfaceJson);
  return { ...lower, ...(nativeError(selector, body) ?? named ?? unknownError(selector, data)) };
}

type Entry = Omit<RevertEntry, "address">;

function nativeError(selector: string, body: Buffer): Entry | undefined {
  if (selector === ERROR_STRING) {
    const [text] = decodeAbi([typeOf("string")], body) ?? [];
    if (typeof text !== "string") return undefined;
    const message = shorten(text);
    return { errorType: "native", displayMessage: message, native: { nativeType: "error_string", message } };
  }
  if (selector !== PANIC) return undefined;
  const [code] = decodeAbi([typeOf("uint256")], body) ?? [];
  if (typeof code !== "bigint") return undefined;
  const message = PANICS[String(code)] ?? "unknown panic";
  const displayMessage = `panic 0x${code.toString(16).padStart(2, "0")}: ${message}`;
  return { errorType: "native", displayMessage, native: { nativeType: "panic", message, panicCode: String(code) } };
}

function customError(selector: string, body: Buffer, interfaceJson: string): Entry | undefined {
  for (const { name, inputs } of errorsIn(interfaceJson)) {
    try {
      const types = inputs.map((input, index) => parseAbiType(input, `inputs[${index}]`, refuse));
      const signature = `${name}${signatureOf(tupleOf(types))}`;
      if (`0x${toHex(keccak_256(Buffer.from(signature)).subarray(0, 4))}` !== selector) continue;
      const values = decodeAbi(types, body);
      if (values === undefined) continue;
      const nameOf = (index: number) => {
        const input = inputs[index];
        return isJsonObject(input) && typeof input.name === "string" && input.name !== "" ? input.name : String(index);
      };
      const params = Object.fromEntries(values.map((value, index) => [nameOf(index), shownValue(value)]));
      const paramsJson = JSON.stringify(params);
      return {
        errorType: "custom",
        displayMessage: shorten(`${name}(${values.map((value) => JSON.stringify(shownValue(value))).join(", ")})`),
        custom: { errorName: name, paramsJson },
      };
    } catch (error) {
      // An error with an invalid declaration cannot be decoded.
      if (!(error instanceof KeysteadError)) throw error;
    }
  }
  return undefined;
}

/** The errors of a stored interface, which is therefore valid JSON of the right shape. */
function errorsIn(interfaceJson: string): { name: string; inputs: readonly unknown[] }[] {
  const value = JSON.parse(interfaceJson) as unknown;
  const entries = isJsonObject(value) ? value.abi : value;
  return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) => {
    if (!isJsonObject(entry) || entry.type !== "error" || typeof entry.name !== "string") return [];
    return [{ name: entry.name, inputs: Array.isArray(entry.inputs) ? entry.inputs : [] }];
  });
}

/** Integers as digits, because JSON numbers cannot represent all of them. */
function shownValue(value: AbiValue): unknown {
  if (typeof value === "bigint") return String(value);
  return Array.isArray(value) ? value.map(shownValue) : value;
}

function unknownError(selector: string, data: string): Entry {
  return {
    errorType: "unknown",
    displayMessage: `an error of the contract's own with the selector ${selector}`,
    unknown: { selector, data },
  };
}

const shorten = (text: string): string => (text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
