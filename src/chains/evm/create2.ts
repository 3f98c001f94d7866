import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";

/** Addresses that depend only on what is deployed there (EIP-1014). */

/**
 * The deterministic deployment proxy, at the same address on every chain that has it. Its call data is a salt of 32 bytes followed by the
 * creation code, which it deploys with CREATE2.
 */
export const DEPLOYMENT_PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c";
/** The proxy's code. If another code is at that address, it is not the proxy. */
export const DEPLOYMENT_PROXY_CODE =
  "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3";

/**
 * The lowercase address of a contract that a factory deploys with CREATE2. All parameters are 0x hex: a salt of 32 bytes, and the creation
 * code followed by the constructor's arguments.
 */
export function create2Address({
  factory,
  salt,
  initCode,
}: {
  factory: string;
  salt: string;
  initCode: string;
}): string {
  const parts = [bytesOf(factory, 20), bytesOf(salt, 32), Buffer.from(keccak_256(bytesOf(initCode)))];
  return `0x${toHex(keccak_256(Buffer.concat([Buffer.of(0xff), ...parts]))).slice(24)}`;
}

/** The call data with which the proxy deploys a contract; lowercase 0x hex. */
export const deploymentData = ({ salt, initCode }: { salt: string; initCode: string }): string =>
  `0x${toHex(bytesOf(salt, 32))}${toHex(bytesOf(initCode))}`;

function bytesOf(hex: string, length?: number): Buffer {
  const bytes = bytesFromHex(hex.slice(2));
  if (!bytes || !hex.startsWith("0x") || (length !== undefined && bytes.length !== length)) {
    throw new Error(`no 0x hex${length === undefined ? "" : ` of ${length} bytes`}: ${hex.slice(0, 80)}`);
  }
  return Buffer.from(bytes);
}
