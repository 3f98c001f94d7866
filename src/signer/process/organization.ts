import { createHmac } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import type { Sealed } from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import type { RootKeys } from "./root-keys.ts";
import { seal, unseal } from "./seal.ts";

/** The purpose and identifiers of what is sealed; the organization is inserted between them. */
type What = readonly [
  purpose:
    | "key"
    | "wallet"
    | "import key"
    | "secret"
    | "job secret"
    | "client secret"
    | "auth proxy key"
    | "on-ramp keys"
    | "sponsor key",
  id: string,
  ...more: string[],
];

/** An organization whose secrets can be opened. */
export interface Organization {
  organizationId: string;
  organizationKey: Sealed;
  seal(what: What, secret: Uint8Array): Sealed;
  /**
   * The caller wipes the result.
   *
   * @throws SigningRefused if it was sealed for something else
   */
  open(what: What, sealed: Sealed): Buffer;
  /**
   * Opens the organization's key, to check that it can be opened.
   *
   * @throws SigningRefused if it was not sealed with this root key
   */
  openKey(): void;
  /** HMAC-SHA-256 with a key for this purpose only; hex. */
  mac(purpose: "one-time code", id: string, text: string): string;
}

export const organizationContext = (organizationId: string) => ["organization key", organizationId];

/**
 * Opens the organization's key only when it is needed; cached secrets do not need it.
 *
 * @throws SigningRefused if the organization's key was not sealed with this root key
 */
export function withOrganization<T>(
  rootKeys: RootKeys,
  { organizationId, organizationKey }: { organizationId: string; organizationKey: Sealed },
  use: (organization: Organization) => T,
): T {
  let opened: Buffer | undefined;
  const key = () => {
    opened ??= rootKeys.unseal(organizationContext(organizationId), organizationKey);
    if (opened) return opened;
    throw new SigningRefused(`the key of organization ${organizationId} was not sealed with this root key`);
  };
  const contextOf = ([purpose, ...ids]: What) => [purpose, organizationId, ...ids];
  try {
    return use({
      organizationId,
      organizationKey,
      openKey: () => void key(),
      seal: (what, secret) => seal(key(), contextOf(what), secret),
      open(what, sealed) {
        const secret = unseal(key(), contextOf(what), sealed);
        if (secret) return secret;
        throw new SigningRefused(`${what[0]} ${what[1]} cannot be opened: it was sealed for something else`);
      },
      mac: (purpose, id, text) =>
        withSecret(createHmac("sha256", key()).update(`${purpose}|${organizationId}`).digest(), (own) =>
          createHmac("sha256", own)
            .update(JSON.stringify([id, text]))
            .digest("hex"),
        ),
    });
  } finally {
    if (opened) wipe(opened);
  }
}

/** Uses a secret and wipes it. */
export function withSecret<Secret extends Uint8Array, T>(secret: Secret, use: (secret: Secret) => T): T {
  try {
    return use(secret);
  } finally {
    wipe(secret);
  }
}
