/** What a check came to; it holds no secret. */
export interface Finding {
  check: string;
  /** `fail`: a server would not work, or could lose what it acknowledged. */
  state: "ok" | "warn" | "fail";
  /** What is so, or what is wrong and the remedy. */
  text: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text });
export const warn = (check: string, text: string): Finding => ({ check, state: "warn", text });
export const fail = (check: string, text: string): Finding => ({ check, state: "fail", text });
