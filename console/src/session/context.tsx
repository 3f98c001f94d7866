import { createContext, type ReactNode, use } from "react";
import type { Session } from "./session.ts";

interface Signed {
  session: Session;
  /** Back to the page that asks who it is. */
  leave: () => void;
}

export const SessionContext = createContext<Signed | undefined>(undefined);

export const SessionProvider = ({ children, ...signed }: Signed & { children: ReactNode }) => (
  <SessionContext value={signed}>{children}</SessionContext>
);

/** Of pages that are shown only to those who are signed in. */
export function useSigned(): Signed {
  const signed = use(SessionContext);
  if (!signed) throw new Error("nobody is signed in");
  return signed;
}

export const useSession = (): Session => useSigned().session;
