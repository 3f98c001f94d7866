const END_OF_HEAD = Buffer.from("\r\n\r\n");
const STATUS_START = "HTTP/1.1 ".length;

/**
 * The first response in `bytes`, or undefined while it is not whole. Only what servers of this benchmark send is understood:
 * HTTP/1.1 with Content-Length.
 *
 * @throws Error for anything else
 */
export function parseResponse(bytes: Buffer): { status: number; body: Buffer; length: number } | undefined {
  const endOfHead = bytes.indexOf(END_OF_HEAD);
  if (endOfHead < 0) return undefined;
  const head = bytes.toString("latin1", 0, endOfHead);
  const contentLength = /\r\ncontent-length: *([0-9]+)(?:\r\n|$)/i.exec(head)?.[1];
  if (contentLength === undefined || !head.startsWith("HTTP/1.1 ")) throw new Error(`not understood: ${head}`);
  const start = endOfHead + END_OF_HEAD.length;
  const length = start + Number(contentLength);
  if (bytes.length < length) return undefined;
  return { status: Number(head.slice(STATUS_START, STATUS_START + 3)), body: bytes.subarray(start, length), length };
}
