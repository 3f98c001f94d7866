import { getAddress, type Hex, padHex, toHex } from "viem";
import type { EvmNode } from "./anvil.ts";
import type { SignedTransfer } from "./sender.ts";

/** Small contracts for tests, written down as the instructions that they are. */

/** Whoever makes them. */
interface Sender {
  sign(more: object): Promise<SignedTransfer>;
}

const TRANSFER_TOPIC = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** What whoever makes a token has of it. */
export const TOKEN_SUPPLY = 10n ** 30n;

/** `balanceOf` and `transfer` with its event; balances stand in the storage under their owners' addresses. */
const TOKEN = [
  "60003560e01c6370a0823114605957", // balanceOf goes to the end
  "602435", // the amount
  "803354033355", // is taken from the caller
  "80600435540160043555", // and given to the receiver
  `60005260043533 7f${TRANSFER_TOPIC} 60206000a3`, // Transfer(caller, receiver, amount)
  "600160005260206000f3", // true
  "5b6004355460005260206000f3",
].join("");
const TOKEN_MAKER = `7f${toHex(TOKEN_SUPPLY, { size: 32 }).slice(2)}3355 6066602f600039 60666000f3`;

/** Passes the value that it is called with on to the address in its input, and undoes all of it where the input is longer. */
const FORWARDER = "600060006000600034600035 5af150 6020361160175700 5b60006000fd";
const FORWARDER_MAKER = "601d600c600039601d6000f3";

const code = (...parts: string[]): Hex => `0x${parts.join("").replaceAll(" ", "")}`;

/** Puts a token on the chain; resolves to its address. */
export const deployToken = (node: EvmNode, sender: Sender): Promise<string> =>
  deploy(node, sender, code(TOKEN_MAKER, TOKEN));

export const deployForwarder = (node: EvmNode, sender: Sender): Promise<string> =>
  deploy(node, sender, code(FORWARDER_MAKER, FORWARDER));

async function deploy(node: EvmNode, sender: Sender, data: Hex): Promise<string> {
  const { signedTransaction, hash } = await sender.sign({ to: undefined, value: 0n, gas: 1_000_000n, data });
  await node.call("eth_sendRawTransaction", signedTransaction);
  const { status, contractAddress } = await node.receipt(hash);
  if (status !== "0x1") throw new Error("the contract was not made");
  return getAddress(contractAddress as string);
}

/** The input of a transfer of tokens. */
export const tokenTransfer = (to: string, amount: bigint): Hex =>
  code("a9059cbb", padHex(to as Hex).slice(2), toHex(amount, { size: 32 }).slice(2));

/** The input of the forwarder. */
export const forwardTo = (to: string, { fails = false } = {}): Hex =>
  code(padHex(to as Hex).slice(2), fails ? "00" : "");
