import type { JWTPayload } from "jose";
import { GOOGLE_ISSUER } from "../../src/authority/rules/contacts.ts";
import { createOutboundClient, type OutboundClient } from "../../src/delivery/outbound.ts";
import { discoveryPath, issuerOfTests, keysPath } from "./issuer.ts";

const DISCOVERY = `/google${discoveryPath}`;

/** A token of Google's that says whose address it is; `playedGoogle` publishes its key. */
export const googleToken = async (claims: JWTPayload): Promise<string> =>
  (await issuerOfTests()).token({ iss: GOOGLE_ISSUER, email_verified: true, ...claims });

/** A server's way out on which the issuer of all tests plays Google as well: whoever asks Google for its keys gets those. */
export async function playedGoogle(): Promise<OutboundClient> {
  const issuer = await issuerOfTests();
  issuer.answer(DISCOVERY, (_, response) =>
    response.end(JSON.stringify({ issuer: GOOGLE_ISSUER, jwks_uri: `${issuer.url}${keysPath}` })),
  );
  const client = createOutboundClient({ allowPrivateNetworks: true });
  return {
    request: ({ url, ...rest }) =>
      client.request({ ...rest, url: url === `${GOOGLE_ISSUER}${discoveryPath}` ? `${issuer.url}${DISCOVERY}` : url }),
    close: client.close,
  };
}
