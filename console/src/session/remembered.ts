/** What this browser remembers from one visit to the next. None of it is secret. */

export interface Remembered {
  organizationId: string;
  /** Milliseconds. */
  expiresAt: number;
  /** Compressed, hex: of the key in IndexedDB. */
  publicKey: string;
}

const LOGIN = "keystead.login";
const LAST_ORGANIZATION = "keystead.organization";

export function remember(login: Remembered): void {
  localStorage.setItem(LOGIN, JSON.stringify(login));
  rememberOrganization(login.organizationId);
}

/** The login of an earlier visit, or of another tab; undefined where there is none, or it is over. */
export function readRemembered(): Remembered | undefined {
  try {
    const login = JSON.parse(localStorage.getItem(LOGIN) ?? "null") as Remembered | null;
    return login !== null && login.expiresAt > Date.now() ? login : undefined;
  } catch {
    return undefined;
  }
}

/** Forgets the login of that key, and no other's. */
export function forget(publicKey: string): void {
  if (readRemembered()?.publicKey === publicKey) localStorage.removeItem(LOGIN);
}

export const rememberOrganization = (organizationId: string): void =>
  localStorage.setItem(LAST_ORGANIZATION, organizationId);

/** Whose passkey was used here last. */
export const lastOrganization = (): string => localStorage.getItem(LAST_ORGANIZATION) ?? "";
