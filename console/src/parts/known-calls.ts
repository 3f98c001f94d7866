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
  "0xa9059cbb": "Transfers a token to",
  "0x095ea7b3": "Lets a token be moved by",
};

/** Undefined of any other call, and of one whose words are not exactly those two. */
export function callWords(data: string): KnownCall | undefined {
  const verb = VERBS[data.slice(0, 10).toLowerCase()];
  const words = data.slice(10);
  if (verb === undefined || words.length !== 2 * WORD || !/^0{24}[0-9a-f]+$/i.test(words)) return undefined;
  const address = `0x${words.slice(WORD - ADDRESS_DIGITS, WORD)}`;
  return { verb, address, amount: BigInt(`0x${words.slice(WORD)}`).toString() };
}
