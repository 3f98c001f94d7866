/** The result of a check. It contains no secrets. */
export interface Finding {
  check: string;
  /** `fail`: a server would not work, or could lose acknowledged data. */
  state: "ok" | "warn" | "fail";
  /** The state, or the problem and its remedy. */
  text: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text });
export const warn = (check: string, text: string): Finding => ({ check, state: "warn", text });
export const fail = (check: string, text: string): Finding => ({ check, state: "fail", text });
