/** The calls of ERC-20 that move a token or let others move it, as the Contract ABI writes them: a selector and words of 32 bytes. */

interface KnownCall {
  verb: string;
  /** As hex with prefix; whom it is about. */
  address: string;
  /** Of the token's smallest unit. */
  amount: string;
}

const WORD = 64;
const ADDRESS_DIGITS = 40;
const VERBS: Record<string, string> = {
  a9059cbb: "Transfers a token to",
  "095ea7b3": "Lets a token be moved by",
};
const SELECTOR = 8;

/** Hex, with or without prefix. */
const digitsOf = (data: string): string => data.replace(/^0x/i, "").toLowerCase();

/** The beginning of a call's data, which names the function, as hex with prefix. */
export const selectorOf = (data: string): string => `0x${digitsOf(data).slice(0, SELECTOR)}`;

/** Undefined of any other call, and of one whose words are not exactly those two. */
export function callWords(data: string): KnownCall | undefined {
  const digits = digitsOf(data);
  const verb = VERBS[digits.slice(0, SELECTOR)];
  const words = digits.slice(SELECTOR);
  if (verb === undefined || words.length !== 2 * WORD || !/^0{24}[0-9a-f]+$/.test(words)) return undefined;
  const address = `0x${words.slice(WORD - ADDRESS_DIGITS, WORD)}`;
  return { verb, address, amount: BigInt(`0x${words.slice(WORD)}`).toString() };
}
