import type { Schemas } from "../api/api.ts";
import { visibleText } from "./visible-text.ts";

/** Users as the options of a select. */
export const userOptions = (users: readonly Pick<Schemas["User"], "userId" | "userName">[]) =>
  users.map(({ userId, userName }) => ({ value: userId, label: visibleText(userName) }));
