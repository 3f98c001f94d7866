import { fail } from "../../kernel/errors.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import { attestedKind } from "./attested-kind.ts";
import type { AnyCredentialKind } from "./credential-kind.ts";
import { passkeyKind } from "./passkey-kind.ts";
import { sessionKind } from "./session-kind.ts";

/** Every kind of credential that a request can come with. */
export const credentialKinds: readonly AnyCredentialKind[] = [apiKeyKind, passkeyKind, sessionKind, attestedKind];

/** The headers of a request that carry stamps, by their names in lowercase. */
export type StampHeaders = Readonly<Record<string, string | undefined>>;

/** A stamp whose form is right; nothing is verified yet. */
export interface DecodedStamp {
  kind: AnyCredentialKind;
  /** As its kind decodes it. */
  decoded: unknown;
}

/** @throws KeysteadError with a 401: none, more than one, or a malformed stamp */
export function decodeStamp(headers: StampHeaders): DecodedStamp {
  const [first, ...others] = credentialKinds.flatMap((kind) => {
    const header = headers[kind.header];
    return header === undefined ? [] : [{ kind, header }];
  });
  if (!first) return fail("STAMP_MISSING", {});
  if (others.length > 0) fail("STAMP_AMBIGUOUS", {});
  return { kind: first.kind, decoded: first.kind.decode(first.header) };
}
