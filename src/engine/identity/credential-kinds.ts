import { fail } from "../../kernel/errors.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import { attestedKind } from "./attested-kind.ts";
import type { AnyCredentialKind } from "./credential-kind.ts";
import { passkeyKind } from "./passkey-kind.ts";
import { sessionKind } from "./session-kind.ts";

/** All kinds of credentials. */
export const credentialKinds: readonly AnyCredentialKind[] = [apiKeyKind, passkeyKind, sessionKind, attestedKind];

/** The stamp headers of a request, by lowercase name. */
export type StampHeaders = Readonly<Record<string, string | undefined>>;

/** A well-formed stamp. Nothing is verified yet. */
export interface DecodedStamp {
  kind: AnyCredentialKind;
  /** Decoded by its kind. */
  decoded: unknown;
}

/** @throws KeysteadError with a 401 if there is no stamp, more than one, or a malformed one */
export function decodeStamp(headers: StampHeaders): DecodedStamp {
  let found: { kind: AnyCredentialKind; header: string } | undefined;
  for (const kind of credentialKinds) {
    const header = headers[kind.header];
    if (header === undefined) continue;
    if (found) fail("STAMP_AMBIGUOUS", {});
    found = { kind, header };
  }
  if (!found) return fail("STAMP_MISSING", {});
  return { kind: found.kind, decoded: found.kind.decode(found.header) };
}
