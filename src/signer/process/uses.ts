import type { Use } from "./occasion.ts";

/**
 * Logs uses of keys to standard error, as one line of JSON each, in the format of the server's log. The lines of one turn of the event loop
 * are written together.
 */
export function useRecorder(write: (text: string) => void): (use: Use) => void {
  let lines: string[] = [];
  const flush = () => {
    const text = lines.join("");
    lines = [];
    write(text);
  };
  return (use) => {
    if (lines.length === 0) setImmediate(flush);
    lines.push(
      `${JSON.stringify({ level: "info", time: new Date().toISOString(), from: "signer", ...use, msg: "a key was used" })}\n`,
    );
  };
}
